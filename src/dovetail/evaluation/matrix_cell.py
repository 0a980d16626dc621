"""One scheduler on one job sequence: a cell of the matrix.

Seed k alone decides what happens: the job sequence, the durations and the failures come from its tree and are
the same for every scheduler; a scheduler's own chance comes from the branch that bears its name.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, Floats, HasKernel
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.metrics_dag import dag_metrics
from dovetail.evaluation.recording import record_dag_run
from dovetail.records.dag import DagRun
from dovetail.sim.dag import DagOptions, DagResult, DagScheduler, DagWorld, run
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.durations import ideal_s
from dovetail.workloads.source import DagSource, open_source

TIMED_DECISIONS = 500  # of a compiled scheduler: enough for a mean, and bounded for large workloads


@dataclass(frozen=True)
class DagSetting:
    """What every scheduler of a comparison meets: a workload, how its jobs arrive, and a cluster."""

    workload: str = "tpch-like"  # bundled name, or directory
    jobs: int = 20
    arrivals: Arrivals = field(default_factory=Arrivals)
    options: DagOptions = field(default_factory=DagOptions)

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ConfigError(f"jobs is {self.jobs}; expected at least 1")


@dataclass(frozen=True, eq=False)
class OpenSetting:
    """A setting with its workload in memory, which a worker does once."""

    setting: DagSetting
    source: DagSource

    @classmethod
    def of(cls, setting: DagSetting) -> OpenSetting:
        return cls(setting, open_source(setting.workload))

    def sequence(self, seed: int) -> DagWorkload:
        return self.source.sequence(self.setting.jobs, self.setting.arrivals, SeedTree(seed))

    def check(self, seed: int) -> None:
        """Find now whatever would fail for every scheduler alike, such as a stage that fits no executor."""
        try:
            DagWorld(self.sequence(seed), self.setting.options, SeedTree(seed))
        except MemoryError as error:
            executors = sum(kind.count for kind in self.setting.options.executor_classes())
            raise ConfigError(
                f"{self.setting.jobs:,} jobs on {executors:,} executors do not fit into memory"
            ) from error

    def facts(self) -> dict[str, Any]:
        """The workload as manifests and JSON describe it; `content` changes with the workload itself."""
        arrivals = self.setting.arrivals
        given = {"interval_s": arrivals.interval_s, "load": arrivals.load}
        return {
            "name": self.source.name,
            "jobs": self.setting.jobs,
            "arrivals": arrivals.kind,
            **{name: value for name, value in given.items() if value is not None},
            "content": _digest(self.source),
        }


@dataclass(frozen=True, eq=False)
class Row:
    """What a cell came to."""

    contender: Contender
    seed: int
    metrics: Mapping[str, float]
    events: int = 0
    decisions: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)  # of this machine, so never hashed
    run: DagRun | None = None  # in full, if it was to be kept


@dataclass(frozen=True)
class Failure:
    """A cell without a result: the scheduler broke a rule, or its code."""

    contender: Contender
    seed: int
    error: str

    def __str__(self) -> str:
        return f"{self.contender.spec}, seed {self.seed}: {self.error}"


def run_cell(
    opened: OpenSetting,
    sequence: DagWorkload,
    contender: Contender,
    seed: int,
    *,
    keep: bool = False,
    timed: bool = False,
) -> Row | Failure:
    """Run it.  `keep`: return the record too; `timed`: measure decisions even if it runs compiled."""
    seeds = SeedTree(seed)
    timings: dict[str, float] = {}
    try:
        stopwatch = Stopwatch(contender.create())
        rng = seeds.child("scheduler", contender.name)
        world = DagWorld(sequence, opened.setting.options, seeds, record=keep)
        start = time.thread_time()
        result = run(world, stopwatch, rng.generator())
        timings["run_s"] = time.thread_time() - start
        if timed and not stopwatch.calls:  # it ran compiled
            run_python(DagWorld(sequence, opened.setting.options, seeds), stopwatch, rng.generator())
        if stopwatch.calls:
            timings["decision_s"] = stopwatch.spent_s / stopwatch.calls
        kept = record_dag_run(result, contender.name, seed, contender.params) if keep else None
        metrics = result_metrics(result)
    except Exception as error:  # a scheduler may be anybody's code; the others shall still finish
        return Failure(contender, seed, _told(error))
    return Row(contender, seed, metrics, result.events, result.decisions, timings, kept)


class Stopwatch:
    """A scheduler, and the time it takes when it is called from Python, as a live engine would do.

    Counted is the time of this thread on a processor: workers and other programs crowd the machine.
    """

    def __init__(self, scheduler: DagScheduler) -> None:
        self._scheduler = scheduler
        self.CLAIRVOYANT = getattr(scheduler, "CLAIRVOYANT", False)
        self.spent_s = 0.0
        self.calls = 0

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._scheduler.reset(info, rng)

    def kernel(self) -> DagKernel | None:
        return self._scheduler.kernel() if isinstance(self._scheduler, HasKernel) else None

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        start = time.thread_time()
        decisions = self._scheduler.decide(view)
        self.spent_s += time.thread_time() - start
        self.calls += 1
        return decisions


def run_python(
    world: DagWorld, scheduler: DagScheduler, rng: np.random.Generator, decisions: int = TIMED_DECISIONS
) -> None:
    """The first so many decisions, uncompiled."""
    scheduler.reset(world.info_for(scheduler), rng)
    view = world.advance()
    for _ in range(decisions):
        if view is None:
            return
        world.apply(scheduler.decide(view))
        view = world.advance()


def result_metrics(result: DagResult) -> dict[str, float]:
    """The metrics of a run."""
    workload = result.workload
    ideal: Floats = ideal_s(workload.catalogue, result.num_executors)[workload.job_dag]
    return dag_metrics(
        arrival_s=workload.arrival_s,
        finish_s=result.finish_s,
        ideal_s=ideal,
        weight=workload.weight,
        deadline_s=workload.deadline_s,
        busy_s=round(result.busy_s, 6),  # what is summed up in another order when recorded must come out equal
        executors=result.num_executors,
    )


def _told(error: Exception) -> str:
    """The error in one line; for foreign code also where it came from."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, DovetailError):
        return text
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{text} ({last.filename}, line {last.lineno}, in {last.name})"


def _digest(source: DagSource) -> str:
    """A fingerprint of everything the simulator reads of a workload."""
    digest = blake2b(digest_size=8)
    tables: list[DagCatalogue | DagWorkload] = [source.catalogue]
    if source.recorded is not None:
        tables.append(source.recorded)
    for table in tables:
        for name, value in sorted(vars(table).items()):
            if isinstance(value, np.ndarray) and name in type(table).__dataclass_fields__:
                digest.update(f"{name} {value.dtype} {value.shape} ".encode())
                digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()
