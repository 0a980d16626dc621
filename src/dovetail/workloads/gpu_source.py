"""Where sequences of GPU training jobs come from: a distribution to draw from, or a record to cut windows out of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.cluster.gpu_clusters import read_cluster
from dovetail.cluster.gpu_speed import CPU_KIND, default_speeds
from dovetail.core.config import build
from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.spec import parse_spec, read_overrides
from dovetail.workloads.gpu import GpuTable, GpuWorkload, workload_of
from dovetail.workloads.gpu_alone import fits
from dovetail.workloads.gpu_arrivals import GpuArrivals, read_arrivals

GPU = {
    "small": "dovetail.workloads.generate.gpu_cloud:Small",
    "medium": "dovetail.workloads.generate.gpu_cloud:Medium",
    "large": "dovetail.workloads.generate.gpu_cloud:Large",
    "small-mixed": "dovetail.workloads.generate.gpu_cloud:SmallMixed",
    "medium-mixed": "dovetail.workloads.generate.gpu_cloud:MediumMixed",
    "large-mixed": "dovetail.workloads.generate.gpu_cloud:LargeMixed",
    "small-uneven": "dovetail.workloads.generate.gpu_cloud:SmallUneven",
    "medium-uneven": "dovetail.workloads.generate.gpu_cloud:MediumUneven",
    "large-uneven": "dovetail.workloads.generate.gpu_cloud:LargeUneven",
    "cloud-2023": "dovetail.workloads.generate.gpu_cloud:Cloud2023",
}
"""Bundled workloads: name -> parameters of the distribution."""

MAX_JOBS = 10**7


class GpuGenerator(Protocol):
    """Parameters of a distribution of jobs, and of the setting it was made for."""

    @property
    def jobs(self) -> int: ...
    @property
    def cluster(self) -> str: ...
    @property
    def load(self) -> float: ...
    @property
    def arrivals(self) -> str: ...
    @property
    def users(self) -> int: ...
    def kind_names(self) -> tuple[str, ...]: ...
    def draw(self, num_jobs: int, rng: np.random.Generator) -> GpuTable: ...


@dataclass(frozen=True, eq=False)
class GpuSource:
    """Draws job sequences.  Either `generator` or `recorded` is there.

    `jobs`, `cluster` and `arrivals` are the setting it was made for: what commands take unless they are told otherwise.
    """

    name: str
    jobs: int
    cluster: GpuCluster
    arrivals: GpuArrivals
    generator: GpuGenerator | None = None
    generator_name: str | None = None
    recorded: GpuWorkload | None = None

    def capacity(self, cluster: GpuCluster) -> float:
        """Reference GPUs that the cluster is worth to these kinds."""
        return capacity(cluster, self.kind_name)

    @property
    def kind_name(self) -> tuple[str, ...]:
        return self._record().kind_name if self.generator is None else self.generator.kind_names()

    def sequence(self, num_jobs: int, arrivals: GpuArrivals, cluster: GpuCluster, seeds: SeedTree) -> GpuWorkload:
        """A job sequence.  Jobs and arrivals come from streams of their own.

        Jobs are drawn from the distribution or, with equal chance, from the recorded ones.  With arrivals `trace`, they
        are consecutive recorded jobs, shifted to start at 0.  A load is that of the very jobs of the sequence: few jobs
        make most of the work, and sequences with and without them would hardly be comparable otherwise.  Recorded jobs
        that do not fit the cluster even when it is empty are left out first (`left_out`); drawn ones fit the cluster
        of their preset, and are not looked at.
        """
        if not 1 <= num_jobs <= MAX_JOBS:
            raise DovetailError(f"workload {self.name}: a sequence has 1 to {MAX_JOBS:,} jobs, not {num_jobs}")
        if arrivals.kind == "trace":
            return self._window(num_jobs, arrivals, cluster, seeds)
        table, users = self._draw(num_jobs, cluster, seeds.child("jobs").generator())
        asked = float((table.workers * table.gpus * table.work_s).mean())
        interval_s = 0.0 if arrivals.kind == "batch" else arrivals.mean_interval_s(asked, self.capacity(cluster))
        arrival_s = arrivals.times(num_jobs, interval_s, seeds.child("arrivals").generator())
        return workload_of(table, tuple(f"j{i}" for i in range(num_jobs)), arrival_s, users, self.kind_name)

    def left_out(self, cluster: GpuCluster) -> int:
        """Recorded jobs that do not fit this cluster."""
        return 0 if self.recorded is None else self.recorded.num_jobs - self._fitting(cluster).num_jobs

    def _draw(self, num_jobs: int, cluster: GpuCluster, rng: np.random.Generator) -> tuple[GpuTable, tuple[str, ...]]:
        """Jobs, and the names of users."""
        if self.generator is not None:
            return self.generator.draw(num_jobs, rng), tuple(f"u{user}" for user in range(self.generator.users))
        record = self._fitting(cluster)
        return record.table().take(rng.integers(record.num_jobs, size=num_jobs)), record.user_name

    def _record(self) -> GpuWorkload:
        if self.recorded is None:
            raise DovetailError(
                f"workload {self.name}: no recorded jobs to cut a window from; use arrivals poisson, diurnal, uniform "
                "or batch"
            )
        return self.recorded

    def _fitting(self, cluster: GpuCluster) -> GpuWorkload:
        record = self._record()
        fit = fits(record, cluster)
        if not fit.any():
            raise DovetailError(f"workload {self.name}: none of its {record.num_jobs:,} jobs fits the cluster")
        return record if fit.all() else record.take(np.flatnonzero(fit))

    def _window(self, num_jobs: int, arrivals: GpuArrivals, cluster: GpuCluster, seeds: SeedTree) -> GpuWorkload:
        record = self._fitting(cluster)
        if num_jobs > record.num_jobs:
            lost = self.left_out(cluster)
            raise DovetailError(
                f"workload {self.name}: {num_jobs} jobs in a row asked for, {record.num_jobs} were recorded"
                + (f" that fit the cluster ({lost} do not)" if lost else "")
                + "; --arrivals poisson draws as many as you like from them, --jobs has windows of fewer"
            )
        if arrivals.apart:
            there = record.num_jobs // num_jobs
            if seeds.seed >= there:
                raise DovetailError(
                    f"workload {self.name}: {record.num_jobs:,} recorded jobs make {there} windows of {num_jobs:,} "
                    f"that share none, seeds 0 to {there - 1}; there is none for seed {seeds.seed}"
                )
            start = seeds.seed * num_jobs
        else:
            start = int(seeds.child("jobs").generator().integers(record.num_jobs - num_jobs + 1))
        window = record.take(slice(start, start + num_jobs))
        arrival_s = window.arrival_s - window.arrival_s[0]
        if arrivals.load is not None or arrivals.interval_s is not None:
            if arrival_s[-1] <= 0:
                raise DovetailError(
                    f"workload {self.name}: these jobs came all at once, so their gaps cannot be stretched to a load"
                )
            mean = float(window.gpu_seconds.mean())
            wanted_s = arrivals.mean_interval_s(mean, self.capacity(cluster)) * num_jobs
            arrival_s = arrival_s * (wanted_s / float(arrival_s[-1]))
        return replace(window, arrival_s=arrival_s)


def capacity(cluster: GpuCluster, kinds: tuple[str, ...]) -> float:
    """GPUs of the cluster, each counted by how fast its type is for these kinds on average."""
    machines = cluster.arrays()
    known = default_speeds()
    bandwidth = np.array([each.memory_gb_s for each in GPU_TYPES])
    rows = [known.kind_name.index(kind) for kind in kinds if kind in known.kind_name and kind != CPU_KIND]
    speed = known.speed[rows].mean(axis=0) if rows else bandwidth / bandwidth[0]
    return float((machines.gpus * speed[machines.type]).sum())


def open_gpu(name_or_path: str | Path) -> GpuSource:
    """The workload in that directory, or the bundled one of that name.

    A bundled name may be followed by parameters: `small:load=0.9,gang_share=0.3`.
    """
    text = str(name_or_path)
    if text not in GPU and Path(text).is_dir():
        from dovetail.workloads.readers.gpu_native import read_gpu

        return read_gpu(Path(text))
    if "/" in text.partition(":")[0] or Path(text).exists():
        raise DovetailError(f"workload {text}: {'not a' if Path(text).exists() else 'no such'} directory")
    return open_bundled(text)


def open_bundled(text: str) -> GpuSource:
    """The bundled workload of that name, with the parameters that follow it."""
    name, overrides = parse_spec(text)
    if name not in GPU:
        raise UnknownName("workload", name, GPU)
    made = gpu_generator(name, overrides)
    arrivals = read_arrivals(made.arrivals)
    if arrivals.load is None and arrivals.interval_s is None and arrivals.kind not in ("batch", "trace"):
        arrivals = replace(arrivals, load=made.load)
    return GpuSource(
        name=text,
        jobs=made.jobs,
        cluster=read_cluster(made.cluster),
        arrivals=arrivals,
        generator=made,
        generator_name=text,
    )


def gpu_generator(name: str, overrides: Mapping[str, object]) -> GpuGenerator:
    """The bundled workload's parameters, some of them changed."""
    module, params = GPU[name].split(":")
    cls: type[GpuGenerator] = getattr(import_module(module), params)
    return build(cls, read_overrides(cls, overrides, name), name)
