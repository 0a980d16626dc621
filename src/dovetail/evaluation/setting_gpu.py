"""Settings of the gpu family: training jobs that need all their workers at once, on machines with GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_speed import SpeedModel, default_speeds
from dovetail.core.errors import ConfigError
from dovetail.core.gpu import HasKernel
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix_cell import run_python
from dovetail.evaluation.metrics_gpu import gpu_metrics
from dovetail.evaluation.recording_gpu import record_gpu_run
from dovetail.evaluation.setting import Measured, OpenSetting, Setting
from dovetail.records.gpu import GpuRun
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuScheduler, GpuWorld, run
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import GpuSource, open_gpu

REHEARSED_JOBS = 3  # of the sequence that is run to have everything compiled
CONTENT_JOBS, CONTENT_SEED = 50, 0  # of the sequence that a workload's fingerprint is taken from


@dataclass(frozen=True)
class GpuSetting(Setting):
    """What every scheduler of a comparison meets.  None: as the workload was made for."""

    FAMILY: ClassVar = "gpu"
    INLINE_JOBS: ClassVar = 1_000

    workload: str = "small"  # bundled name, or directory
    jobs: int | None = None
    arrivals: GpuArrivals | None = None
    load: float | None = None  # instead of the rate that the arrivals say
    cluster: GpuCluster | None = None
    machines: int | None = None  # changes of the cluster
    kinds: tuple[str, ...] | None = None
    rack: int | None = None
    speeds: str | None = None  # file; none: those that are shipped
    options: GpuOptions = field(default_factory=GpuOptions)  # but for its cluster, which the fields above make

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise ConfigError(f"jobs is {self.jobs}; expected at least 1")
        if self.load is not None and self.arrivals is not None and self.arrivals.interval_s is not None:
            raise ConfigError("a load and arrivals with an interval are given; expected one or the other")
        if self.load is not None and self.arrivals is not None and self.arrivals.load not in (None, self.load):
            raise ConfigError(f"a load of {self.load:g} and arrivals at {self.arrivals.load:g} are given; expected one")

    def open(self) -> OpenGpuSetting:
        source = open_gpu(self.workload)
        return OpenGpuSetting(
            setting=self,
            source=source,
            num_jobs=source.jobs if self.jobs is None else self.jobs,
            arrivals=self._arrivals(source),
            cluster=self._cluster(source.cluster if self.cluster is None else self.cluster),
            model=default_speeds() if self.speeds is None else _read_speeds(self.speeds),
        )

    def _arrivals(self, source: GpuSource) -> GpuArrivals:
        """Those of the workload, or others at its load."""
        made = source.arrivals
        if self.load is not None:
            return replace(made if self.arrivals is None else self.arrivals, load=self.load, interval_s=None)
        if self.arrivals is None:
            return made
        timed = self.arrivals.load is not None or self.arrivals.interval_s is not None
        if timed or self.arrivals.kind in ("batch", "trace"):
            return self.arrivals
        return replace(self.arrivals, load=made.load, interval_s=made.interval_s)

    def _cluster(self, base: GpuCluster) -> GpuCluster:
        """The cluster with what differs from it."""
        given = {"machines": self.machines, "kinds": self.kinds, "rack": self.rack}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if not changes:
            return base
        if base.listed:
            named = " and ".join(changes)
            raise ConfigError(f"{named}: the machines of this cluster are listed one by one; change the list instead")
        if self.kinds is not None:
            changes["shares"] = ()
        return replace(base, **changes)


@dataclass(frozen=True, eq=False)
class OpenGpuSetting(OpenSetting):
    """A setting with its workload in memory, and everything in it decided."""

    setting: GpuSetting
    source: GpuSource
    num_jobs: int
    arrivals: GpuArrivals
    cluster: GpuCluster
    model: SpeedModel

    @property
    def jobs(self) -> int:
        return self.num_jobs

    @cached_property
    def options(self) -> GpuOptions:
        return replace(self.setting.options, cluster=self.cluster)

    def sequence(self, seed: int) -> GpuWorkload:
        return self.source.sequence(self.jobs, self.arrivals, self.cluster, SeedTree(seed))

    def check(self, seed: int) -> None:
        """Find now whatever would fail for every scheduler alike, such as a job that fits no machine."""
        try:
            self.world(self.sequence(seed), SeedTree(seed))
        except MemoryError as error:
            machines = self.cluster.machines
            raise ConfigError(f"{self.jobs:,} jobs on {machines:,} machines do not fit into memory") from error

    def facts(self) -> dict[str, Any]:
        arrivals = self.arrivals
        given = {
            "load": arrivals.load,
            "interval_s": arrivals.interval_s,
            "swing": arrivals.swing,
            "apart": arrivals.apart,
            "speeds": self.setting.speeds,
        }
        return {
            "name": self.source.name,
            "jobs": self.jobs,
            "arrivals": arrivals.kind,
            **{name: value for name, value in given.items() if value is not None},
            "content": self._digest(),
        }

    def notes(self) -> list[str]:
        if self.is_one_sequence:
            return ["the whole record is one sequence, the same for every seed: intervals say nothing"]
        return []

    @property
    def is_one_sequence(self) -> bool:
        """Every seed draws the same jobs at the same times."""
        record = self.source.recorded
        return self.arrivals.kind == "trace" and record is not None and self.jobs == record.num_jobs

    def world(self, sequence: GpuWorkload, seeds: SeedTree, *, record: bool = False) -> GpuWorld:
        return GpuWorld(sequence, self.model, self.options, seeds, record=record)

    def run(self, world: GpuWorld, scheduler: GpuScheduler, rng: np.random.Generator) -> GpuResult:
        return run(world, scheduler, rng)

    def measure(self, result: GpuResult) -> Measured:
        return Measured(result_metrics(result), result.events, result.decisions)

    def record_run(self, result: GpuResult, contender: Contender, seed: int) -> GpuRun:
        return record_gpu_run(result, self.cluster, self.model, contender.name, seed, contender.params)

    def rehearse(self, scheduler: GpuScheduler, ready: set[object]) -> None:
        seeds = SeedTree(0).child("warm-up")
        sequence = self.source.sequence(REHEARSED_JOBS, GpuArrivals("batch"), self.cluster, seeds)
        world = self.world(sequence, seeds, record=True)
        scheduler.reset(world.info_for(scheduler), seeds.generator())
        kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
        if kernel is not None and kernel.function in ready:
            return
        run_python(world, scheduler, seeds.generator())
        if kernel is not None:
            ready.add(kernel.function)
            self.run(self.world(sequence, seeds, record=True), scheduler, seeds.generator())

    def _digest(self) -> str:
        """A fingerprint of what the simulator reads of a drawn sequence, and of the speeds."""
        kind = "trace" if self.arrivals.kind == "trace" else "batch"
        jobs = min(self.jobs, CONTENT_JOBS)
        sequence = self.source.sequence(jobs, GpuArrivals(kind), self.cluster, SeedTree(CONTENT_SEED))
        names = (sequence.kind_name, self.model.kind_name, self.model.machine_hop, self.model.rack_hop)
        digest = blake2b(repr(names).encode(), digest_size=8)
        for table in (sequence, self.model):
            for name, value in sorted(vars(table).items()):
                if isinstance(value, np.ndarray):
                    digest.update(f"{name} {value.dtype} {value.shape} ".encode())
                    digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()


def result_metrics(result: GpuResult) -> dict[str, float]:
    """The metrics of a run."""
    workload = result.workload
    return gpu_metrics(
        arrival_s=workload.arrival_s,
        finish_s=result.finish_s,
        running_s=result.running_s,
        work_s=workload.work_s,
        fee=result.fee,
        stops=result.stops,
        job_gpus=workload.workers * workload.gpus,
        work_run_s=result.work_run_s,
        alone_run_s=result.alone_run_s,
        num_gpus=result.num_gpus,
    )


def _read_speeds(path: str) -> SpeedModel:
    from dovetail.cluster.gpu_speed_file import read_speeds

    return read_speeds(Path(path))
