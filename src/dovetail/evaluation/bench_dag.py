"""How fast the dag simulator is, measured against the plain-Python reference in the same run.

Rates are per CPU-second of this process (per second of wall time for the batched simulator, which uses threads); each
is the median over several job sequences.  The workload is the one the published simulators are quoted for: 50
executors, 200 jobs, 25 s between arrivals.  The reference gets the first of the same sequences or, where they are
longer than it can do in a few seconds, shorter ones of the same kind.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.dag import Ints
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import choose
from dovetail.evaluation.setting_dag import DagSetting, OpenDagSetting
from dovetail.evaluation.warm_up import warm_up
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagScheduler, DagWorld, run
from dovetail.sim.dag.batch import DagBatch, DagBatchView, Episode
from dovetail.testing import ReferenceDagWorld
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import DagSource, open_source
from dovetail.workloads.store import write_source

SCHEDULER = "dag/fair"
LEAST_REPEATS = 3  # of everything that is measured, however long it takes
LOADED_JOBS = 5000
# A world takes about 128 bytes for an executor and ten times that for a job: 2.5 GB in all.
MOST_ROOM = 20_000_000


@dataclass(frozen=True)
class BenchOptions:
    """What is measured, and for how long."""

    workload: str = "tpch-like"
    jobs: int = 200
    interval_s: float = 25.0
    executors: int = 50
    reference_jobs: int = 200  # at most; the reference is a hundred times slower
    worlds: int = 256
    threads: int = 2
    seconds: float = 3.0  # how long each rate is measured
    seed: int = 0

    def __post_init__(self) -> None:
        for name, high in (("jobs", 100_000), ("reference_jobs", 1000), ("worlds", 100_000), ("threads", 256)):
            if not 1 <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected at least 1, {high:,} at most")
        if not 0 < self.seconds <= 3600:
            raise ConfigError(f"seconds is {self.seconds}; expected more than 0, 3600 at most")
        self.cluster()
        self.arrivals()
        if self.worlds * (self.executors + 10 * self.jobs) > MOST_ROOM:
            raise ConfigError(
                f"{self.worlds:,} worlds of {self.jobs:,} jobs on {self.executors:,} executors do not fit into memory; "
                f"expected worlds * (executors + 10 * jobs) of {MOST_ROOM:,} at most"
            )

    def cluster(self) -> DagOptions:
        return DagOptions(executors=self.executors)

    def arrivals(self) -> Arrivals:
        return Arrivals(kind="poisson", interval_s=self.interval_s)


class Timed(NamedTuple):
    """One run from start to end: what was done in how many CPU-seconds."""

    tasks: int
    events: int
    decisions: int
    seconds: float


def bench_sim(options: BenchOptions, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """All rates, and their ratios to the reference."""
    try:
        return _bench_sim(options, say)
    except MemoryError as error:
        raise ConfigError(
            f"{options.worlds:,} worlds of {options.jobs:,} jobs on {options.executors:,} executors do not fit into "
            "memory; expected fewer"
        ) from error


def _bench_sim(options: BenchOptions, say: Callable[[str], None]) -> dict[str, Any]:
    source = open_source(options.workload)
    say("compiling, or loading what was compiled before")
    compile_s = _wall_seconds(lambda: _compile(source, options.cluster()))
    say("compiled scheduler")
    compiled = _runs(source, options, options.jobs, partial(time_run, compiled=True))
    say("scheduler in Python")
    python = _runs(source, options, options.jobs, partial(time_run, compiled=False))
    say(f"batched, {options.worlds} worlds on {options.threads} threads")
    batched = _batched_rates(source, options)
    say(f"plain-Python reference, {LEAST_REPEATS} sequences or more")
    jobs = min(options.jobs, options.reference_jobs)
    reference = _runs(source, options, jobs, time_reference)
    say(f"loading {LOADED_JOBS:,} jobs from disk")
    load_s = [_load_seconds(source, options) for _ in range(LEAST_REPEATS)]

    events = median(one.tasks / one.seconds for one in compiled)
    decisions = median(one.decisions / one.seconds for one in python)
    reference_events = median(one.tasks / one.seconds for one in reference)
    reference_decisions = median(one.decisions / one.seconds for one in reference)
    return {
        "schema": 1,
        "workload": options.workload,
        "jobs": options.jobs,
        "reference_jobs": jobs,
        "interval_s": options.interval_s,
        "executors": options.executors,
        "scheduler": SCHEDULER,
        "worlds": options.worlds,
        "threads": options.threads,
        "events_per_s": events,
        "python_decisions_per_s": decisions,
        "batched_decisions_per_s": median(batched),
        "reference_events_per_s": reference_events,
        "reference_decisions_per_s": reference_decisions,
        "events_ratio": events / reference_events,
        "python_decisions_ratio": decisions / reference_decisions,
        "batched_decisions_ratio": median(batched) / reference_decisions,
        "repeats": {
            "events": len(compiled),
            "python_decisions": len(python),
            "batched_decisions": len(batched),
            "reference": len(reference),
            "load_and_reset": len(load_s),
        },
        "load_and_reset_5000_jobs_s": median(load_s),
        "compile_or_load_s": compile_s,
    }


def speed_table(figures: dict[str, Any]) -> str:
    """The figures of `bench_sim` for people, and what was run to get them."""
    repeats, jobs, few = figures["repeats"], f"{figures['jobs']} jobs", f"{figures['reference_jobs']} jobs"
    batch = f"{figures['worlds']} worlds, {figures['threads']} threads, {jobs}"
    rows = (
        ("task events per CPU-second, compiled scheduler", "events", jobs, "events"),
        ("decisions per CPU-second, scheduler in Python", "python_decisions", jobs, "python_decisions"),
        ("decisions per second, batched, random policy", "batched_decisions", batch, "batched_decisions"),
        ("reference: task events per CPU-second", "reference_events", few, "reference"),
        ("reference: decisions per CPU-second", "reference_decisions", few, "reference"),
    )
    lines = [f"{'':48s} {'median':>12s} {'x reference':>12s}  of"]
    for text, name, what, repeat in rows:
        ratio = f"{figures[f'{name}_ratio']:,.0f}" if f"{name}_ratio" in figures else ""
        lines.append(f"{text:48s} {figures[f'{name}_per_s']:12,.0f} {ratio:>12s}  {repeats[repeat]} x {what}")
    lines.append(
        f"{f'seconds to load {LOADED_JOBS:,} jobs from disk, and reset':48s} "
        f"{figures['load_and_reset_5000_jobs_s']:12.3f} {'':12s}  {repeats['load_and_reset']} x {LOADED_JOBS:,} jobs"
    )
    lines.append(
        f"{figures['workload']}, {figures['executors']} executors, {figures['interval_s']:g} s between arrivals, "
        f"{figures['scheduler']}; the reference is plain Python, on "
        + (
            "shorter sequences of the same kind"
            if figures["reference_jobs"] < figures["jobs"]
            else "the same sequences"
        )
    )
    return "\n".join(lines)


# --- one run ---------------------------------------------------------------------------------------------------


def time_run(
    workload: DagWorkload, cluster: DagOptions, seeds: SeedTree, scheduler: DagScheduler, *, compiled: bool
) -> Timed:
    """A run in the simulator; making the world is not counted."""
    world = DagWorld(workload, cluster, seeds)
    start = time.process_time()
    result = run(world, scheduler, seeds.child("scheduler").generator(), compiled=compiled)
    return Timed(_tasks(workload), result.events, result.decisions, time.process_time() - start)


def time_reference(workload: DagWorkload, cluster: DagOptions, seeds: SeedTree, scheduler: DagScheduler) -> Timed:
    """The same run in the plain-Python reference; making the world is not counted."""
    world = ReferenceDagWorld(workload, cluster, seeds.child("durations").key(), seeds.child("failures").key())
    start = time.process_time()
    scheduler.reset(world.info, seeds.child("scheduler").generator())
    decisions = 0
    while (view := world.advance()) is not None:
        chosen = scheduler.decide(view)
        decisions += len(chosen)
        world.apply(chosen)
    return Timed(_tasks(workload), world.events, decisions, time.process_time() - start)


def _tasks(workload: DagWorkload) -> int:
    return int(workload.catalogue.dag_tasks[workload.job_dag].sum())


def _scheduler() -> DagScheduler:
    scheduler: DagScheduler = SCHEDULERS.create(SCHEDULER)
    return scheduler


# --- several runs ----------------------------------------------------------------------------------------------


def _runs(
    source: DagSource,
    options: BenchOptions,
    jobs: int,
    one: Callable[[DagWorkload, DagOptions, SeedTree, DagScheduler], Timed],
) -> list[Timed]:
    """As many sequences as the time allows, always the same ones in the same order."""
    found: list[Timed] = []
    until = time.perf_counter() + options.seconds
    while len(found) < LEAST_REPEATS or time.perf_counter() < until:
        seeds = SeedTree(options.seed).child("bench", len(found))
        workload = source.sequence(jobs, options.arrivals(), seeds.child("workload"))
        found.append(one(workload, options.cluster(), seeds, _scheduler()))
    return found


def _episodes(source: DagSource, options: BenchOptions) -> Iterator[Episode]:
    number = 0
    while True:
        seeds = SeedTree(options.seed).child("batch", number)
        yield Episode(source.sequence(options.jobs, options.arrivals(), seeds.child("workload")), seeds)
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


def _batched_rates(source: DagSource, options: BenchOptions, slices: int = 5) -> list[float]:
    """The rates in so many slices of the time, one after the other in the same worlds."""
    episodes = _episodes(source, options)
    batch = DagBatch(source.catalogue, options.cluster(), episodes, options.worlds, threads=options.threads)
    rng = np.random.default_rng(options.seed)
    view, _ = batch.start()
    for _ in range(50):  # away from the start, where all worlds are empty
        view, _ = batch.step(*random_decisions(view, rng))
    rates = []
    for _ in range(slices):
        steps, seconds, start = 0, 0.0, time.perf_counter()
        while seconds < options.seconds / slices:
            view, _ = batch.step(*random_decisions(view, rng))
            steps += 1
            seconds = time.perf_counter() - start
        rates.append(steps * options.worlds / seconds)
    batch.close()
    return rates


def _load_seconds(source: DagSource, options: BenchOptions) -> float:
    """Reading a workload directory with that many recorded jobs, and making a world of it, tables included."""
    seeds = SeedTree(2)
    recorded = source.sequence(LOADED_JOBS, options.arrivals(), seeds.child("workload"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workload"
        write_source(DagSource(source.name, source.catalogue, recorded), path)

        def load() -> None:
            workload = open_source(path).sequence(LOADED_JOBS, Arrivals("trace"), seeds)
            DagWorld(workload, options.cluster(), seeds)

        return _wall_seconds(load)


# --- compiling -------------------------------------------------------------------------------------------------


def compile_seconds() -> tuple[float, float]:
    """(wall, CPU) seconds of a process that compiles everything from an empty cache; the real one is left alone."""
    with tempfile.TemporaryDirectory() as cache:
        code = "from dovetail.evaluation.bench_dag import compile_everything; compile_everything()"
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        start, before = time.perf_counter(), os.times()
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        seconds, after = time.perf_counter() - start, os.times()
        if done.returncode != 0:
            raise DovetailError(f"compiling in a process of its own failed:\n{done.stderr}")
        if not any(Path(cache).rglob("*.nbc")):
            raise DovetailError(f"compiling into {cache} left nothing there; is numba's compiler switched off?")
        before_s, after_s = (one.children_user + one.children_system for one in (before, after))
        return seconds, after_s - before_s


def compile_everything() -> None:
    """The simulator, alone and batched, looking ahead, and every scheduler that can be had here."""
    options = BenchOptions()
    source = open_source(options.workload)
    setting = DagSetting(options.workload, jobs=2, arrivals=Arrivals(), options=options.cluster())
    warm_up(OpenDagSetting(setting, source), choose("all", jobs=2, family="dag").contenders, lambda: None)
    _compile_batch(source, options.cluster())


def _compile(source: DagSource, cluster: DagOptions) -> None:
    workload = source.sequence(2, Arrivals(), SeedTree(1))
    for compiled in (True, False):
        time_run(workload, cluster, SeedTree(1), _scheduler(), compiled=compiled)
    _compile_batch(source, cluster)


def _compile_batch(source: DagSource, cluster: DagOptions) -> None:
    workload = source.sequence(2, Arrivals(), SeedTree(1))
    batch = DagBatch(source.catalogue, cluster, iter([Episode(workload, SeedTree(1))]), 1)
    view, _ = batch.start()
    batch.step(*random_decisions(view, np.random.default_rng(0)))


def _wall_seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
