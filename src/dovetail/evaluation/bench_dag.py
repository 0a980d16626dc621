"""How fast the dag simulator is, measured against the plain-Python reference in the same run.

Rates are per CPU-second of this process (per second of wall time for the batched simulator, which uses threads).
The workload is the one the published simulators are quoted for: 50 executors, 200 jobs, 25 s between arrivals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import Ints
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagResult, DagScheduler, DagWorld, run
from dovetail.sim.dag.batch import DagBatch, DagBatchView, Episode
from dovetail.testing import ReferenceDagWorld
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import DagSource, open_source

SCHEDULER = "dag/fair"


@dataclass(frozen=True)
class BenchOptions:
    workload: str = "tpch-like"
    jobs: int = 200
    interval_s: float = 25.0
    executors: int = 50
    reference_jobs: int = 20  # the reference is a hundred times slower: a shorter sequence of the same kind
    worlds: int = 256
    threads: int = 2
    seconds: float = 3.0  # how long each rate is measured
    seed: int = 0


def bench_sim(options: BenchOptions, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """All rates, and their ratios to the reference."""
    source = open_source(options.workload)
    cluster = DagOptions(executors=options.executors)
    say("compiling, or loading what was compiled before")
    compile_s = _timed(lambda: _compile(source, cluster))
    say("compiled scheduler")
    events = _task_rate(source, cluster, options, compiled=True)
    say("scheduler in Python")
    decisions = _decision_rate(source, cluster, options)
    say(f"batched, {options.worlds} worlds on {options.threads} threads")
    batched = _batched_rate(source, cluster, options)
    say("plain-Python reference")
    reference_events, reference_decisions = _reference_rates(source, cluster, options)
    reset_s = _reset_seconds(options.workload, cluster)
    return {
        "schema": 1,
        "workload": options.workload,
        "jobs": options.jobs,
        "interval_s": options.interval_s,
        "executors": options.executors,
        "scheduler": SCHEDULER,
        "events_per_s": events,
        "python_decisions_per_s": decisions,
        "batched_decisions_per_s": batched,
        "reference_events_per_s": reference_events,
        "reference_decisions_per_s": reference_decisions,
        "events_ratio": events / reference_events,
        "python_decisions_ratio": decisions / reference_decisions,
        "batched_decisions_ratio": batched / reference_decisions,
        "load_and_reset_5000_jobs_s": reset_s,
        "compile_or_load_s": compile_s,
    }


def _sequence(source: DagSource, jobs: int, interval_s: float, seeds: SeedTree) -> DagWorkload:
    return source.sequence(jobs, Arrivals(kind="poisson", interval_s=interval_s), seeds.child("workload"))


def _scheduler() -> DagScheduler:
    scheduler: DagScheduler = SCHEDULERS.create(SCHEDULER)
    return scheduler


def _run(workload: DagWorkload, cluster: DagOptions, seeds: SeedTree, *, compiled: bool) -> DagResult:
    world = DagWorld(workload, cluster, seeds)
    return run(world, _scheduler(), seeds.child("scheduler").generator(), compiled=compiled)


def _compile(source: DagSource, cluster: DagOptions) -> None:
    seeds = SeedTree(1)
    workload = _sequence(source, 2, 25.0, seeds)
    _run(workload, cluster, seeds, compiled=True)
    _run(workload, cluster, seeds, compiled=False)
    batch = DagBatch(source.catalogue, cluster, iter([Episode(workload, seeds)]), 1)
    view, _ = batch.start()
    batch.step(*random_decisions(view, np.random.default_rng(0)))


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _repeat(options: BenchOptions, one: Callable[[SeedTree], float]) -> float:
    """Best rate over as many different sequences as the time allows; `one` returns a rate."""
    rates = []
    until = time.perf_counter() + options.seconds
    number = 0
    while number < 2 or time.perf_counter() < until:
        rates.append(one(SeedTree(options.seed).child("bench", number)))
        number += 1
    return max(rates)


def _task_rate(source: DagSource, cluster: DagOptions, options: BenchOptions, *, compiled: bool) -> float:
    def one(seeds: SeedTree) -> float:
        workload = _sequence(source, options.jobs, options.interval_s, seeds)
        world = DagWorld(workload, cluster, seeds)
        start = time.process_time()
        run(world, _scheduler(), seeds.child("scheduler").generator(), compiled=compiled)
        seconds = time.process_time() - start
        return float(workload.catalogue.dag_tasks[workload.job_dag].sum()) / seconds

    return _repeat(options, one)


def _decision_rate(source: DagSource, cluster: DagOptions, options: BenchOptions) -> float:
    def one(seeds: SeedTree) -> float:
        workload = _sequence(source, options.jobs, options.interval_s, seeds)
        world = DagWorld(workload, cluster, seeds)
        start = time.process_time()
        result = run(world, _scheduler(), seeds.child("scheduler").generator(), compiled=False)
        return result.decisions / (time.process_time() - start)

    return _repeat(options, one)


def _reference_rates(source: DagSource, cluster: DagOptions, options: BenchOptions) -> tuple[float, float]:
    """(tasks, decisions) per CPU-second of the reference with the same scheduler on a shorter sequence."""
    seeds = SeedTree(options.seed).child("bench", 0)
    workload = _sequence(source, options.reference_jobs, options.interval_s, seeds)
    scheduler = _scheduler()
    start = time.process_time()
    world = ReferenceDagWorld(workload, cluster, seeds.child("durations").key(), 0)
    scheduler.reset(world.info, seeds.child("scheduler").generator())
    decisions = 0
    while (view := world.advance()) is not None:
        chosen = scheduler.decide(view)
        decisions += len(chosen)
        world.apply(chosen)
    seconds = time.process_time() - start
    return len(world.task_log) / seconds, decisions / seconds


def _episodes(source: DagSource, options: BenchOptions) -> Iterator[Episode]:
    number = 0
    while True:
        seeds = SeedTree(options.seed).child("batch", number)
        yield Episode(_sequence(source, options.jobs, options.interval_s, seeds), seeds)
        number += 1


def random_decisions(view: DagBatchView, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """A valid stage and limit for each world, uniformly at random, without a loop over worlds."""
    valid = np.flatnonzero(view.columns.stage_valid[: view.stage_ptr[-1]])
    first = np.searchsorted(valid, view.stage_ptr[:-1])
    count = np.searchsorted(valid, view.stage_ptr[1:]) - first
    luck = rng.random((2, len(first)))
    stage = valid[np.minimum(first + (luck[0] * count).astype(np.int64), len(valid) - 1)]
    job = view.columns.stage_job[stage] + view.job_ptr[:-1]
    limit = view.columns.job_executors[np.minimum(job, view.job_ptr[-1] - 1)] + 1
    limit = limit + (luck[1] * view.source_executors).astype(np.int64)
    return stage - view.stage_ptr[:-1], limit


def _batched_rate(source: DagSource, cluster: DagOptions, options: BenchOptions) -> float:
    batch = DagBatch(source.catalogue, cluster, _episodes(source, options), options.worlds, threads=options.threads)
    rng = np.random.default_rng(options.seed)
    view, _ = batch.start()
    for _ in range(50):  # away from the start, where all worlds are empty
        view, _ = batch.step(*random_decisions(view, rng))
    steps = 0
    start = time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        view, _ = batch.step(*random_decisions(view, rng))
        steps += 1
    seconds = time.perf_counter() - start
    batch.close()
    return steps * options.worlds / seconds


def _reset_seconds(workload: str, cluster: DagOptions) -> float:
    """Opening the source, drawing a sequence of 5,000 jobs and making a world of it, tables included."""
    seeds = SeedTree(2)
    return _timed(lambda: DagWorld(_sequence(open_source(workload), 5000, 25.0, seeds), cluster, seeds))
