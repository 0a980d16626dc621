"""What a run that goes on from some state of a dag world costs at least.

A job cannot be faster than any chain of its stages, nor start before an executor has come to it.  And the executors
together can do only so much: the k-th job to finish does so no earlier than all executors, never idle, would be done
with the k jobs that have the least work left.  Both bound the k-th finish, so the later one does.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from dovetail.sim.dag.options import DagOptions
from dovetail.sim.kernels.dag_state import EXECUTOR_MASK, KIND_SHIFT, TASK_END, DagOne
from dovetail.workloads.dag import FIRST, FRESH, DagWorkload
from dovetail.workloads.durations import fill_samples

Times = list[list[float]]


class DagLowerBound:
    def __init__(self, workload: DagWorkload, options: DagOptions) -> None:
        samples = fill_samples(workload.catalogue, options.warm_up_s)
        slots = zip(samples.start.ravel().tolist(), samples.count.ravel().tolist(), strict=True)
        least_s = np.array([samples.samples_s[at : at + count].min() for at, count in slots])
        by_wave = least_s.reshape(samples.start.shape).min(axis=2)
        self._task_s: list[float] = by_wave.min(axis=1).tolist()  # of any task, by row of the catalogue
        self._opening_s: list[float] = by_wave[:, (FRESH, FIRST)].min(axis=1).tolist()  # of a stage's first task
        self._executors = options.executors
        self._moving_delay_s = options.moving_delay_s
        self._stages = stages_by_job(workload)

    def least_cost(self, one: DagOne) -> float:
        """The sum of all completion times, at least."""
        now = one.world["now"].item()
        running, coming = ends_and_arrivals(one)
        stages, jobs = one.stages, one.jobs
        progress = list(
            zip(stages["left"].tolist(), stages["unstarted"].tolist(), stages["starts"].tolist(), strict=True)
        )
        at_home, stages_left = jobs["home"].tolist(), jobs["stages_left"].tolist()
        finishes, works, begun = [], [], 0.0
        for j, arrival in enumerate(jobs["arrival_s"].tolist()):
            if stages_left[j] == 0:
                continue
            here = max(now, arrival)
            start = here if at_home[j] else min([here + self._moving_delay_s, *coming[j]])
            finish, work = self._job(j, progress, running, now, start)
            finishes.append(finish)
            works.append(work + start - here)  # an executor is on its way until then
            begun += here
        finishes.sort()
        works.sort()
        done = [now + work / self._executors for work in accumulate(works)]
        return float(one.world["cost_jobs"].item() + sum(map(max, finishes, done)) - begun)

    def _job(
        self, j: int, progress: list[tuple[int, int, int]], running: Times, now: float, start: float
    ) -> tuple[float, float]:
        """Its earliest finish, and the executor-seconds it still takes, if nothing more starts before `start`."""
        finish: dict[int, float] = {}
        work = 0.0
        for v, row, parents in self._stages[j]:
            left, unstarted, starts = progress[v]
            if left == 0:
                finish[v] = now
                continue
            task_s = self._task_s[row]
            extra_s = 0.0 if starts else self._opening_s[row] - task_s
            work += unstarted * task_s + extra_s + sum(running[v]) - now * len(running[v])
            ready = max((finish[parent] for parent in parents), default=start)
            waves = -(-unstarted // self._executors)
            finish[v] = max(max(ready, start) + waves * task_s + extra_s, *running[v], now)
        return max(finish.values()), work


def stages_by_job(workload: DagWorkload) -> list[list[tuple[int, int, list[int]]]]:
    """(number in the world, row of the catalogue, numbers of the parents), parents before children."""
    catalogue = workload.catalogue
    parent, child = catalogue.edge_rows
    jobs, first = [], 0
    for dag in workload.job_dag.tolist():
        shift = first - int(catalogue.stage_ptr[dag])
        rows = np.arange(catalogue.stage_ptr[dag], catalogue.stage_ptr[dag + 1])
        rows = rows[np.argsort(catalogue.stage_level[rows], kind="stable")]
        jobs.append([(row + shift, row, (parent[child == row] + shift).tolist()) for row in rows.tolist()])
        first += len(rows)
    return jobs


def ends_and_arrivals(one: DagOne) -> tuple[Times, Times]:
    """When the running tasks of each stage end, and when the executors on their way to each job arrive."""
    ends: Times = [[] for _ in one.stages]
    arrivals: Times = [[] for _ in one.jobs]
    stage_of, job_of = one.executors["stage"].tolist(), one.stages["job"].tolist()
    for key, time_s in one.heap[: one.world["heap_size"].item()].tolist():
        stage = stage_of[key & EXECUTOR_MASK]
        if key >> KIND_SHIFT == TASK_END:
            ends[stage].append(time_s)
        else:
            arrivals[job_of[stage]].append(time_s)
    return ends, arrivals
