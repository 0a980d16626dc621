"""Settings of the dag family: a workload of DAG jobs on a cluster of executors."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from dovetail.core.dag import Floats, HasKernel
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix_cell import run_python
from dovetail.evaluation.metrics_dag import dag_metrics
from dovetail.evaluation.recording_dag import record_dag_run
from dovetail.evaluation.setting import Measured, OpenSetting, Setting
from dovetail.records.dag import DagRun
from dovetail.sim.dag import DagOptions, DagResult, DagScheduler, DagWorld, run
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.durations import ideal_s
from dovetail.workloads.source import DagSource, open_source


@dataclass(frozen=True)
class DagSetting(Setting):
    """What every scheduler of a comparison meets: a workload, how its jobs arrive, and a cluster."""

    FAMILY: ClassVar = "dag"
    INLINE_JOBS: ClassVar = 2_000

    workload: str = "tpch-like"  # bundled name, or directory
    jobs: int = 20
    arrivals: Arrivals = field(default_factory=Arrivals)
    options: DagOptions = field(default_factory=DagOptions)

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ConfigError(f"jobs is {self.jobs}; expected at least 1")

    def open(self) -> OpenDagSetting:
        return OpenDagSetting(self, open_source(self.workload))


@dataclass(frozen=True, eq=False)
class OpenDagSetting(OpenSetting):
    """A setting with its workload in memory, which a worker does once."""

    setting: DagSetting
    source: DagSource

    @property
    def jobs(self) -> int:
        return self.setting.jobs

    @property
    def options(self) -> DagOptions:
        return self.setting.options

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

    def world(self, sequence: DagWorkload, seeds: SeedTree, *, record: bool = False) -> DagWorld:
        return DagWorld(sequence, self.setting.options, seeds, record=record)

    def run(self, world: DagWorld, scheduler: DagScheduler, rng: np.random.Generator) -> DagResult:
        return run(world, scheduler, rng)

    def measure(self, result: DagResult) -> Measured:
        return Measured(result_metrics(result), result.events, result.decisions)

    def record_run(self, result: DagResult, contender: Contender, seed: int) -> DagRun:
        return record_dag_run(result, contender.name, seed, contender.params)

    def rehearse(self, scheduler: DagScheduler, ready: set[object]) -> None:
        seeds = SeedTree(0).child("warm-up")
        sequence = self.source.sequence(1, Arrivals("batch"), seeds)
        world = self.world(sequence, seeds, record=True)
        scheduler.reset(world.info_for(scheduler), seeds.generator())
        kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
        if kernel is not None and kernel.function in ready:
            return
        run_python(world, scheduler, seeds.generator())
        if kernel is not None:
            ready.add(kernel.function)
            self.world(sequence, seeds, record=True).run_kernel(kernel)


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
