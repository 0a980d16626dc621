"""GPU training jobs as a public cloud sees them, fitted to public traces.

From the Alibaba trace of 2023 (8,152 pods): among jobs of at most one GPU, how many need none, a share of one, or one;
the processors and memory that go with them; how arrivals follow the day.  `Cloud2023` also has its durations, a mixture
of three lognormal distributions fitted to the 7,255 pods that ran, and its kinds of machines
(`experiments/gpu_workload.py` puts quantiles side by side).

Only 75 of those pods have several GPUs, so gangs come from elsewhere.  The study of Helios (SC 2021) reports 1.75 GPUs
a job on average for the Philly trace and 3.72 for its own.  In the presets 35 % of the jobs are gangs of 2 to 64 GPUs,
which makes 2.3 to 2.6.  Their durations are shorter at the far end than the trace's: its longest hundredth are services
of days and weeks, and with a few hundred jobs a sequence would be about one or two of them.  A fifth are trials of
minutes as there, the others take 45 minutes at the median and a day at most, gangs twice that (in the trace, pods with
several GPUs ran four to five times longer on average).

What is ours: which kinds are popular, how users differ (Zipf), how wrong estimates are, and that half of the gangs are
made of workers with as many GPUs as a machine has.

Demands are given for machines with 12 processors for each GPU, as most of the trace's are.  The presets' machines have
8, and 4 GPUs instead of 8; `cpu_scale` and `cpu_only_scale` make demands the same part of a machine as there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dovetail.cluster.gpu import GPU_TYPES
from dovetail.cluster.gpu_clusters import read_cluster
from dovetail.cluster.gpu_speed import CPU_KIND, default_speeds
from dovetail.core.dag import Floats, Ints
from dovetail.workloads.gpu import GpuTable

Component = tuple[float, float, float]  # weight, median in seconds, sigma


class Flavour(NamedTuple):
    """Demands that go together, and how common they are among their like."""

    weight: float
    gpus: float
    cpus: float
    memory: float  # GB


WITHOUT = (
    Flavour(0.34, 0, 12.5, 56),
    Flavour(0.27, 0, 32, 48),
    Flavour(0.18, 0, 8, 30),
    Flavour(0.12, 0, 15.5, 50),
    Flavour(0.09, 0, 16.5, 50),
)
SHARED = (
    Flavour(0.35, 0.81, 3.2, 5.5),
    Flavour(0.13, 0.47, 12, 46),
    Flavour(0.08, 0.65, 12, 46),
    Flavour(0.12, 0.47, 8, 30),
    Flavour(0.10, 0.32, 4, 20),
    Flavour(0.05, 0.46, 6, 12),
    Flavour(0.08, 0.22, 4, 28),
    Flavour(0.05, 0.57, 4, 9),
    Flavour(0.04, 0.15, 4, 15),
)
SINGLE = (
    Flavour(0.25, 1, 11.3, 48),
    Flavour(0.14, 1, 11.4, 47),
    Flavour(0.13, 1, 3.2, 5.5),
    Flavour(0.12, 1, 12, 30),
    Flavour(0.10, 1, 18.7, 63),
    Flavour(0.08, 1, 9.8, 40),
    Flavour(0.08, 1, 8, 16),
    Flavour(0.06, 1, 15.8, 57),
    Flavour(0.04, 1, 4, 12),
)
GANG = (  # for each GPU
    Flavour(0.45, 1, 8, 32),
    Flavour(0.35, 1, 11, 40),
    Flavour(0.20, 1, 4, 32),
)
FAMILIES = {
    "resnet-50": 0.25,
    "resnet-18": 0.2,
    "transformer": 0.2,
    "lm": 0.15,
    "recommendation": 0.1,
    "a3c": 0.05,
    "cyclegan": 0.05,
}
"""How popular kinds are, by the beginning of their names; ours."""
ALONE = ("recommendation", "a3c", "cyclegan")
"""Never in gangs: they were measured with one worker only."""

_DRAWS = 12  # for each job
_GRID = 2048
_MOST = 1e9


@dataclass(frozen=True)
class GpuCloud:
    """What to draw."""

    jobs: int = field(default=300, metadata={"help": "jobs of a sequence, unless told otherwise"})
    cluster: str = field(default="small", metadata={"help": "cluster, unless told otherwise"})
    load: float = field(default=1.0, metadata={"help": "GPU-seconds that arrive / that the cluster can do"})
    arrivals: str = field(default="diurnal", metadata={"help": "how jobs arrive, unless told otherwise"})
    cpu_share: float = field(default=0.09, metadata={"help": "of jobs that need no GPU"})
    shared_share: float = field(default=0.25, metadata={"help": "of jobs that need a share of one GPU"})
    gang_share: float = field(default=0.35, metadata={"help": "of jobs that need several GPUs; the rest need one"})
    gang_sizes: tuple[int, ...] = field(default=(2, 4, 8, 16, 32, 64), metadata={"help": "GPUs of a gang"})
    gang_weights: tuple[float, ...] = field(
        default=(0.35, 0.27, 0.27, 0.07, 0.03, 0.01), metadata={"help": "how common each size is"}
    )
    largest_gang: int = field(default=16, metadata={"help": "GPUs; larger sizes are not drawn"})
    worker_gpus: int = field(default=4, metadata={"help": "GPUs of a worker that fills a machine"})
    whole_share: float = field(default=0.5, metadata={"help": "of gangs whose workers fill machines; others: one GPU"})
    durations: tuple[Component, ...] = field(
        default=((0.2, 127.0, 0.74), (0.8, 2700.0, 1.3)),
        metadata={"help": "of work: weight, median in seconds and sigma of each lognormal part"},
    )
    gang_stretch: float = field(default=2.0, metadata={"help": "how much longer gangs take"})
    shortest_s: float = field(default=30.0, metadata={"help": "seconds; shorter work is not drawn"})
    longest_s: float = field(default=86_400.0, metadata={"help": "seconds; longer work is not drawn"})
    error_sigma: float = field(default=0.5, metadata={"help": "sigma of the logarithm of estimate / work"})
    users: int = field(default=20, metadata={"help": "users"})
    user_zipf: float = field(default=1.0, metadata={"help": "user i sends jobs in proportion to i ^ -this"})
    kinds: tuple[str, ...] = field(default=(), metadata={"help": "kinds of training; none: those of the speed model"})
    cpu_scale: float = field(default=2 / 3, metadata={"help": "processors are those of the trace times this"})
    cpu_only_scale: float = field(default=1 / 3, metadata={"help": "the same for jobs that need no GPU"})
    memory_scale: float = field(default=1.0, metadata={"help": "memory is that of the trace times this"})
    restricted_share: float = field(default=0.0, metadata={"help": "of GPU jobs that may run on one type only"})

    def __post_init__(self) -> None:
        for name, low, high in (("jobs", 1, 10**7), ("users", 1, 10**6), ("largest_gang", 2, 10**5)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be {low} to {high:,}, not {getattr(self, name)}")
        for name in ("cpu_share", "shared_share", "gang_share", "whole_share", "restricted_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share from 0 to 1, not {getattr(self, name):g}")
        if self.cpu_share + self.shared_share + self.gang_share > 1 + 1e-9:
            raise ValueError("cpu_share, shared_share and gang_share add up to more than 1")
        for name in ("load", "gang_stretch", "shortest_s", "cpu_scale", "cpu_only_scale", "memory_scale"):
            if not 0 < getattr(self, name) <= _MOST:
                raise ValueError(f"{name} must be above 0, {_MOST:g} at most, not {getattr(self, name):g}")
        for name in ("error_sigma", "user_zipf"):
            if not 0 <= getattr(self, name) <= 10:
                raise ValueError(f"{name} must be 0 to 10, not {getattr(self, name):g}")
        if not self.shortest_s < self.longest_s <= _MOST:
            raise ValueError(f"longest_s must be above shortest_s, {_MOST:g} at most, not {self.longest_s:g}")
        if len(self.gang_sizes) != len(self.gang_weights) or not all(size >= 2 for size in self.gang_sizes):
            raise ValueError("gang_sizes must be whole numbers from 2, and gang_weights one number for each")
        if min(self.gang_weights, default=0) < 0 or not any(self._weights_of_gangs()):
            raise ValueError(f"gang_weights: no size up to largest_gang ({self.largest_gang}) has a weight above 0")
        if self.worker_gpus < 1 or any(size % self.worker_gpus for size in self.gang_sizes if size > self.worker_gpus):
            raise ValueError(f"worker_gpus is {self.worker_gpus}; every larger gang size must be a multiple of it")
        if not self.durations or not all(w >= 0 and m > 0 and 0 < s <= 10 for w, m, s in self.durations):
            raise ValueError("durations: expected [weight,median,sigma] with a median and a sigma above 0")
        if not any(weight for weight, _, _ in self.durations):
            raise ValueError("durations: all weights are 0; expected one above 0")

    def kind_names(self) -> tuple[str, ...]:
        return (*self.kinds, CPU_KIND) if self.kinds and CPU_KIND not in self.kinds else self._all_kinds()

    def popularity(self) -> Floats:
        """(K,) of each kind; 0 for work without a GPU."""
        names = self.kind_names()
        return np.array([_popularity(name, names) for name in names])

    def draw(self, num_jobs: int, rng: np.random.Generator) -> GpuTable:
        """A row of draws for each job, so the first jobs do not depend on how many follow."""
        draw = rng.random((num_jobs, _DRAWS)).T
        ends = np.cumsum((self.cpu_share, self.shared_share, self.gang_share))
        group = np.searchsorted(ends, draw[0], side="right")  # without, shared, gang, single
        flavour = np.zeros((3, num_jobs))  # GPUs, processors, memory
        for code, table in enumerate((WITHOUT, SHARED, GANG, SINGLE)):
            here = group == code
            place = _weighted(draw[1][here], [each.weight for each in table])
            flavour[:, here] = np.array([each[1:] for each in table]).T[:, place]
        gang = group == 2
        size = np.array(self.gang_sizes)[_weighted(draw[2], self._weights_of_gangs())]
        per_worker = np.where(draw[3] < self.whole_share, np.minimum(size, self.worker_gpus), 1)
        workers = np.where(gang, size // per_worker, 1)
        each = np.where(gang, per_worker, 1)
        processors = np.where(group == 0, self.cpu_only_scale, self.cpu_scale)
        work_s = np.where(gang, self._work_s(draw[4], self.gang_stretch), self._work_s(draw[4], 1.0))
        error = np.exp(self.error_sigma * _normal(draw[5], draw[6]))
        gpus = flavour[0] * each
        cpus, memory = np.round(flavour[1] * each * processors, 1), np.round(flavour[2] * each * self.memory_scale, 1)
        return GpuTable(
            user=_weighted(draw[7], np.arange(1, self.users + 1) ** -self.user_zipf),
            kind=self._kinds(group, draw[8]),
            workers=workers,
            gpus=gpus,
            cpus=np.maximum(cpus, 0.1),
            memory=np.maximum(memory, 0.1),
            types=self._types(workers, gpus, cpus, memory, draw[9], draw[10]),
            work_s=work_s,
            estimate_s=work_s * error,
        )

    def _weights_of_gangs(self) -> list[float]:
        pairs = zip(self.gang_sizes, self.gang_weights, strict=True)
        return [weight if size <= self.largest_gang else 0.0 for size, weight in pairs]

    def _all_kinds(self) -> tuple[str, ...]:
        return self.kinds or default_speeds().kind_name

    def _kinds(self, group: Ints, draw: Floats) -> Ints:
        names, popular = self.kind_names(), self.popularity()
        together = popular * [not name.startswith(ALONE) for name in names]
        cpu = names.index(CPU_KIND)
        kind = np.where(group == 2, _weighted(draw, together if together.any() else popular), _weighted(draw, popular))
        return np.where(group == 0, cpu, kind)

    def _work_s(self, draw: Floats, stretch: float) -> Floats:
        """By the inverse of the mixture's distribution function, cut at both ends."""
        log = np.linspace(math.log(self.shortest_s), math.log(self.longest_s), _GRID)
        below = np.zeros(_GRID)
        for weight, median_s, sigma in self.durations:
            z = (log - math.log(median_s * stretch)) / (sigma * math.sqrt(2))
            below += weight * np.array([math.erf(each) for each in z])
        if below[-1] - below[0] <= 0:
            raise ValueError("durations: nothing of them lies between shortest_s and longest_s")
        return np.asarray(np.exp(np.interp(below[0] + draw * (below[-1] - below[0]), below, log)), dtype=np.float64)

    def _types(self, workers: Ints, gpus: Floats, cpus: Floats, memory: Floats, whether: Floats, which: Floats) -> Ints:
        """One of the cluster's types for a share of the jobs, by its GPUs; any type where the job would not fit it."""
        types = np.full(workers.size, -1)
        if self.restricted_share == 0:
            return types
        machines = read_cluster(self.cluster).arrays()
        devices = np.bincount(machines.type, machines.gpus, minlength=len(GPU_TYPES))
        chosen = _weighted(which, devices)
        for job in np.flatnonzero((whether < self.restricted_share) & (gpus > 0)):
            here = machines.type == chosen[job]
            room = np.floor(machines.gpus[here] / max(gpus[job], 1.0))
            room = np.minimum(room, np.floor(machines.cpus[here] / cpus[job]))
            room = np.minimum(room, np.floor(machines.memory[here] / memory[job]))
            if room.sum() >= workers[job]:
                types[job] = 1 << int(chosen[job])
        return types


_HELP = {each.name: each.metadata for each in fields(GpuCloud)}


@dataclass(frozen=True)
class Small(GpuCloud):
    """300 jobs on 8 machines of 4 V100."""


@dataclass(frozen=True)
class Medium(GpuCloud):
    """500 jobs on 32 machines of 4 V100."""

    jobs: int = field(default=500, metadata=_HELP["jobs"])
    cluster: str = field(default="medium", metadata=_HELP["cluster"])
    largest_gang: int = field(default=32, metadata=_HELP["largest_gang"])
    users: int = field(default=50, metadata=_HELP["users"])


@dataclass(frozen=True)
class Large(GpuCloud):
    """1,500 jobs on 128 machines of 4 V100."""

    jobs: int = field(default=1500, metadata=_HELP["jobs"])
    cluster: str = field(default="large", metadata=_HELP["cluster"])
    largest_gang: int = field(default=64, metadata=_HELP["largest_gang"])
    users: int = field(default=100, metadata=_HELP["users"])


@dataclass(frozen=True)
class SmallMixed(Small):
    """The same on machines of four types."""

    cluster: str = field(default="small-mixed", metadata=_HELP["cluster"])
    load: float = field(default=0.8, metadata=_HELP["load"])  # gangs run as fast as their slowest type


@dataclass(frozen=True)
class MediumMixed(Medium):
    """The same on machines of four types."""

    cluster: str = field(default="medium-mixed", metadata=_HELP["cluster"])
    load: float = field(default=0.8, metadata=_HELP["load"])  # gangs run as fast as their slowest type


@dataclass(frozen=True)
class LargeMixed(Large):
    """The same on machines of four types."""

    cluster: str = field(default="large-mixed", metadata=_HELP["cluster"])
    load: float = field(default=0.8, metadata=_HELP["load"])  # gangs run as fast as their slowest type


@dataclass(frozen=True)
class SmallUneven(Small):
    """The same on machines that differ though they are of one kind."""

    cluster: str = field(default="small-uneven", metadata=_HELP["cluster"])


@dataclass(frozen=True)
class MediumUneven(Medium):
    """The same on machines that differ though they are of one kind."""

    cluster: str = field(default="medium-uneven", metadata=_HELP["cluster"])


@dataclass(frozen=True)
class LargeUneven(Large):
    """The same on machines that differ though they are of one kind."""

    cluster: str = field(default="large-uneven", metadata=_HELP["cluster"])


@dataclass(frozen=True)
class Cloud2023(GpuCloud):
    """A look-alike of the public trace of 2023: its shares, its durations, its kinds of machines; hardly any gangs."""

    jobs: int = field(default=5000, metadata=_HELP["jobs"])
    cluster: str = field(default="cloud-2023", metadata=_HELP["cluster"])
    cpu_share: float = field(default=0.133, metadata=_HELP["cpu_share"])
    shared_share: float = field(default=0.378, metadata=_HELP["shared_share"])
    gang_share: float = field(default=0.0092, metadata=_HELP["gang_share"])
    gang_sizes: tuple[int, ...] = field(default=(2, 4, 8), metadata=_HELP["gang_sizes"])
    gang_weights: tuple[float, ...] = field(default=(0.21, 0.2, 0.59), metadata=_HELP["gang_weights"])
    largest_gang: int = field(default=8, metadata=_HELP["largest_gang"])
    worker_gpus: int = field(default=8, metadata=_HELP["worker_gpus"])
    whole_share: float = field(default=1.0, metadata=_HELP["whole_share"])
    durations: tuple[Component, ...] = field(
        default=((0.207, 127.0, 0.74), (0.779, 1002.0, 1.66), (0.014, 324961.0, 2.22)), metadata=_HELP["durations"]
    )
    gang_stretch: float = field(default=1.0, metadata=_HELP["gang_stretch"])
    shortest_s: float = field(default=4.0, metadata=_HELP["shortest_s"])
    longest_s: float = field(default=12_900_000.0, metadata=_HELP["longest_s"])
    cpu_scale: float = field(default=1.0, metadata=_HELP["cpu_scale"])
    cpu_only_scale: float = field(default=1.0, metadata=_HELP["cpu_only_scale"])
    users: int = field(default=200, metadata=_HELP["users"])


def _popularity(name: str, names: tuple[str, ...]) -> float:
    """Of a kind: that of its family, in equal parts; of one that belongs to no family, as a family of its own."""
    if name == CPU_KIND:
        return 0.0
    for family, share in FAMILIES.items():
        if name.startswith(family):
            return share / sum(other.startswith(family) for other in names)
    return 0.1


def _weighted(draw: Floats, weights: ArrayLike) -> Ints:
    """(J,) positions, each as often as its weight says."""
    ends = np.cumsum(weights) / np.sum(weights)
    return np.minimum(np.searchsorted(ends, draw, side="right"), len(ends) - 1)


def _normal(one: Floats, other: Floats) -> Floats:
    """Normal numbers from two even ones (Box and Muller 1958)."""
    return np.asarray(np.sqrt(-2 * np.log(1 - one)) * np.cos(2 * math.pi * other), dtype=np.float64)
