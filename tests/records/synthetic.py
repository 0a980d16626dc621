"""A toy world that leaves consistent records: whole DAG jobs, moving delay, decisions with reasons.

It follows no specification; it only has to be plausible, quick and the same every time, so that readers of
records can be tested without the simulator.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.core.dag import Reason
from dovetail.records import (
    DagDecisions,
    DagEdges,
    DagJobs,
    DagRun,
    DagStages,
    DagTasks,
    RecordWriter,
    run_name,
)

MOVING_DELAY_S = 2.0
POLICIES = {
    "dag/fifo": Reason.FIRST_ARRIVED,
    "dag/sjf-cp": Reason.SHORTEST_JOB,
    "dag/srtf": Reason.LEAST_WORK_LEFT,
    "dag/fair": Reason.BELOW_FAIR_SHARE,
    "dag/random": Reason.DRAWN_AT_RANDOM,
}
WORKLOAD = {"name": "toy", "arrivals": "poisson", "jobs": 20}


@dataclass(frozen=True)
class Job:
    arrival_s: float
    tasks: list[int]
    mean_s: list[float]
    parents: list[list[int]]

    @property
    def work_s(self) -> float:
        return float(np.dot(self.tasks, self.mean_s))

    @property
    def critical_path_s(self) -> float:
        end: list[float] = []
        for stage, mean_s in enumerate(self.mean_s):
            end.append(mean_s + max((end[parent] for parent in self.parents[stage]), default=0.0))
        return max(end)


def make_jobs(seed: int, num_jobs: int, scale: float = 1.0) -> list[Job]:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(6.0, num_jobs))
    arrivals -= arrivals[0]
    jobs = []
    for arrival in arrivals:
        count = int(rng.integers(2, 9))
        jobs.append(
            Job(
                arrival_s=float(arrival),
                tasks=[max(1, int(n * scale)) for n in rng.integers(1, 80, count)],
                mean_s=[float(x) for x in rng.uniform(0.4, 3.0, count)],
                parents=[sorted({int(rng.integers(s)) for _ in range(2)}) if s else [] for s in range(count)],
            )
        )
    return jobs


def make_run(
    scheduler: str = "dag/fifo", seed: int = 0, num_jobs: int = 20, executors: int = 50, scale: float = 1.0
) -> DagRun:
    jobs = make_jobs(seed, num_jobs, scale)
    world = _World(scheduler, jobs, executors, np.random.default_rng([seed, len(scheduler)]))
    world.play()
    stages = [(j, s) for j, job in enumerate(jobs) for s in range(len(job.tasks))]
    edges = [(j, p, s) for j, s in stages for p in jobs[j].parents[s]]
    ideal_s = np.array([max(job.critical_path_s, job.work_s / executors) for job in jobs])
    arrival_s = np.array([job.arrival_s for job in jobs])
    by_start = sorted(world.tasks, key=lambda task: (task[5], task[0]))
    tasks = np.array(by_start, dtype=np.float64).reshape(-1, 7)
    decisions = np.array(world.decisions, dtype=np.float64).reshape(-1, 10)
    whole = tasks.astype(np.int64)
    chosen = decisions.astype(np.int64)
    edge = np.array(edges, dtype=np.int64).reshape(-1, 3)
    return DagRun(
        run=run_name(scheduler, seed),
        scheduler=scheduler,
        seed=seed,
        executors=executors,
        jobs=DagJobs(
            name=tuple(f"j{j}" for j in range(num_jobs)),
            dag=tuple(f"q{len(job.tasks)}" for job in jobs),
            arrival_s=arrival_s,
            finish_s=np.array(world.finish_s),
            weight=np.where(np.arange(num_jobs) % 5 == 0, 2.0, 1.0),
            deadline_s=np.where(np.arange(num_jobs) % 3 == 0, arrival_s + 3.0 * ideal_s, np.inf),
            work_s=np.array([job.work_s for job in jobs]),
            ideal_s=ideal_s,
        ),
        stages=DagStages(
            job=np.array([j for j, _ in stages]),
            stage=np.array([s for _, s in stages]),
            name=tuple(f"scan-{s}" if not jobs[j].parents[s] else f"join-{s}" for j, s in stages),
            tasks=np.array([jobs[j].tasks[s] for j, s in stages]),
        ),
        edges=DagEdges(job=edge[:, 0], parent=edge[:, 1], child=edge[:, 2]),
        tasks=DagTasks(
            executor=whole[:, 0],
            job=whole[:, 1],
            stage=whole[:, 2],
            wave=whole[:, 3],
            lost=whole[:, 4] > 0,
            start_s=tasks[:, 5],
            end_s=tasks[:, 6],
        ),
        decisions=DagDecisions(
            time_s=decisions[:, 0],
            source_job=chosen[:, 1],
            source_stage=chosen[:, 2],
            on_offer=chosen[:, 3],
            job=chosen[:, 4],
            stage=chosen[:, 5],
            limit=chosen[:, 6],
            given=chosen[:, 7],
            executor_class=chosen[:, 8],
            reason=chosen[:, 9],
        ),
    )


def write_records(directory: Path, seeds: int = 3, num_jobs: int = 20, executors: int = 50) -> Path:
    """A small comparison as `dovetail compare` leaves it: all seeds in the summary, seed 0 in full."""
    from dovetail.evaluation.metrics_dag import run_metrics

    writer = RecordWriter.open(
        directory,
        family="dag",
        workload=WORKLOAD,
        options={"executors": executors, "moving_delay_s": MOVING_DELAY_S},
        seeds=range(seeds),
        command="dovetail compare dag --workload toy --jobs 20 --arrivals poisson --interval 6",
    )
    for scheduler in POLICIES:
        for seed in range(seeds):
            run = make_run(scheduler, seed, num_jobs, executors)
            if seed == 0:
                writer.add_run(run)
            timings = {"decision_s": 2e-6 * (1 + len(scheduler)), "wall_s": 0.1}
            writer.add(scheduler, seed, run_metrics(run), timings=timings)
    return directory


class _World:
    """Greedy: whenever an executor is free, the policy's favourite job with a startable task gets it."""

    def __init__(self, scheduler: str, jobs: list[Job], executors: int, rng: np.random.Generator) -> None:
        self.scheduler, self.jobs, self.rng = scheduler, jobs, rng
        self.unstarted = [list(job.tasks) for job in jobs]
        self.unfinished = [list(job.tasks) for job in jobs]
        self.held = [0] * len(jobs)
        self.home = [-1] * executors
        self.last = [(-1, -1)] * executors
        self.free = list(range(executors))
        self.arrived: list[int] = []
        self.tasks: list[tuple[float, ...]] = []
        self.decisions: list[tuple[float, ...]] = []
        self.finish_s = [float("inf")] * len(jobs)
        self.events: list[tuple[float, int, int]] = [(job.arrival_s, 0, j) for j, job in enumerate(jobs)]
        self.running: dict[int, tuple[int, int]] = {}

    def play(self) -> None:
        heapq.heapify(self.events)
        while self.events:
            now, kind, which = heapq.heappop(self.events)
            if kind == 0:
                self.arrived.append(which)
            else:
                job, stage = self.running.pop(which)
                self.unfinished[job][stage] -= 1
                if self.unstarted[job][stage] > 0:
                    self._start(which, job, stage, now)
                    continue
                self.held[job] -= 1
                self.free.append(which)
                if not any(self.unfinished[job]):
                    self.finish_s[job] = now
                    self.arrived.remove(job)
            self._round(now)

    def _round(self, now: float) -> None:
        while self.free and (stages := [(j, s) for j in self.arrived for s in self._startable(j)]):
            job, stage = min(stages, key=lambda pair: self._rank(pair[0]))
            share = max(1, -(-len(self.home) // len(self.arrived)))
            limit = share if self.scheduler == "dag/fair" else len(self.home)
            given = max(1, min(limit - self.held[job], len(self.free), self.unstarted[job][stage]))
            source = self.home[self.free[0]]
            row = (now, source, -1, len(self.free), job, stage, self.held[job] + given, given, -1)
            self.decisions.append((*row, POLICIES.get(self.scheduler, Reason.UNSTATED)))
            self.held[job] += given
            taken, self.free = self.free[:given], self.free[given:]
            for executor in taken:
                self._start(executor, job, stage, now + MOVING_DELAY_S * (self.home[executor] != job))

    def _startable(self, job: int) -> list[int]:
        left, parents = self.unfinished[job], self.jobs[job].parents
        return [s for s, n in enumerate(self.unstarted[job]) if n and not any(left[p] for p in parents[s])]

    def _rank(self, job: int) -> float:
        if self.scheduler == "dag/fifo":
            return job
        if self.scheduler == "dag/sjf-cp":
            return self.jobs[job].work_s
        if self.scheduler == "dag/srtf":
            return float(np.dot(self.unfinished[job], self.jobs[job].mean_s))
        if self.scheduler == "dag/fair":
            return self.held[job]
        return float(self.rng.random())

    def _start(self, executor: int, job: int, stage: int, start_s: float) -> None:
        wave = 0 if self.home[executor] != job else 2 if self.last[executor] == (job, stage) else 1
        end_s = start_s + self.jobs[job].mean_s[stage] * float(self.rng.uniform(0.7, 1.3)) + (wave == 0)
        self.home[executor], self.last[executor] = job, (job, stage)
        self.unstarted[job][stage] -= 1
        self.running[executor] = (job, stage)
        self.tasks.append((executor, job, stage, wave, 0, start_s, end_s))
        heapq.heappush(self.events, (end_s, 1, executor))
