"""Machines with GPUs: types and prices, kinds of machines, and clusters of them in racks.

Prices are what public clouds asked for an hour on demand in the middle of 2023 (United States, Linux), divided by the
GPUs of the offer: processors and memory are in them, except for the P100, which is sold as a device.  G1, G2 and G3 are
types that the public trace of 2023 does not disclose.  They have no price; ours are those of the T4, the A10 and the
A100.  Its `V100M16` is our V100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import ConfigError, UnknownName

MAX_MACHINES = 100_000
MAX_DEVICES = 16  # of a machine
RACK = 16  # machines in a rack, where nothing is said about them
MOST_UNEVEN = 1.0


class GpuType(NamedTuple):
    """A type of GPU: what an hour of one costs, the offer that is the price of, and how fast its memory is."""

    name: str
    usd_per_hour: float
    price_of: str
    memory_gb_s: float  # from the maker's data sheet; speeds of types that nobody measured follow it


GPU_TYPES = (
    GpuType("V100", 3.06, "Amazon p3.2xlarge", 900),
    GpuType("A100", 4.10, "an eighth of Amazon p4d.24xlarge", 1555),
    GpuType("T4", 0.526, "Amazon g4dn.xlarge", 320),
    GpuType("A10", 1.006, "Amazon g5.xlarge (A10G)", 600),
    GpuType("P100", 1.46, "the device at Google", 732),
    GpuType("K80", 0.90, "Amazon p2.xlarge", 240),
    GpuType("V100M32", 3.90, "an eighth of Amazon p3dn.24xlarge", 900),
    GpuType("G1", 0.526, "none; as T4", 320),
    GpuType("G2", 1.006, "none; as A10", 600),
    GpuType("G3", 4.10, "none; as A100", 1555),
    GpuType("H100", 12.29, "an eighth of Amazon p5.48xlarge", 3350),
)
"""In the order of every type index; masks of types have a bit for each.  The first is the reference."""
TYPE_INDEX = {kind.name: index for index, kind in enumerate(GPU_TYPES)}
ALIASES = {"V100M16": "V100", "V100-16GB": "V100", "V100-32GB": "V100M32", "A10G": "A10"}
"""Other names of types."""


def gpu_type(name: str) -> int:
    """Index of the type of that name, in whatever case it is written."""
    plain = name.strip().upper()
    plain = ALIASES.get(plain, plain)
    if plain not in TYPE_INDEX:
        raise UnknownName("type of GPU", name, (*TYPE_INDEX, *ALIASES))
    return TYPE_INDEX[plain]


@dataclass(frozen=True)
class MachineKind:
    """A kind of machine."""

    name: str
    type: str
    gpus: int
    cpus: float
    memory: float  # GB


MACHINE_KINDS = {
    kind.name: kind
    for kind in (
        MachineKind("v100x4", "V100", gpus=4, cpus=32, memory=244),
        MachineKind("v100x8", "V100", gpus=8, cpus=64, memory=488),
        MachineKind("a100x8", "A100", gpus=8, cpus=96, memory=1152),
        MachineKind("a100x4", "A100", gpus=4, cpus=48, memory=340),
        MachineKind("t4x4", "T4", gpus=4, cpus=48, memory=192),
        MachineKind("a10x4", "A10", gpus=4, cpus=48, memory=192),
        MachineKind("p100x2", "P100", gpus=2, cpus=16, memory=120),
        MachineKind("h100x8", "H100", gpus=8, cpus=192, memory=2048),
        # as in the public trace of 2023
        MachineKind("g2x8", "G2", gpus=8, cpus=96, memory=384),
        MachineKind("g3x8", "G3", gpus=8, cpus=128, memory=768),
        MachineKind("t4x2", "T4", gpus=2, cpus=104, memory=512),
        MachineKind("t4x4-large", "T4", gpus=4, cpus=96, memory=384),
        MachineKind("p100x2-large", "P100", gpus=2, cpus=64, memory=256),
        MachineKind("v100x4-small", "V100", gpus=4, cpus=32, memory=128),
        MachineKind("v100x8-small", "V100", gpus=8, cpus=64, memory=256),
        MachineKind("v100x1", "V100", gpus=1, cpus=8, memory=32),
        MachineKind("v100m32x8", "V100M32", gpus=8, cpus=96, memory=768),
        MachineKind("v100m32x4", "V100M32", gpus=4, cpus=48, memory=368),
    )
}


class Machines(NamedTuple):
    """All machines of a cluster, as arrays."""

    name: tuple[str, ...]  # (M,)
    type: Ints  # (M,) index of GPU_TYPES
    gpus: Ints  # (M,)
    cpus: Floats  # (M,)
    memory: Floats  # (M,) GB
    rack: Ints  # (M,)


@dataclass(frozen=True)
class Machine:
    """One machine."""

    name: str
    type: str
    gpus: int
    cpus: float
    memory: float  # GB
    rack: int = 0


@dataclass(frozen=True)
class GpuCluster:
    """So many machines of the named kinds, and so many of them in a rack; or a list of machines.

    Kinds come in turn, or in blocks as large as their `shares` say.  With `listed`, the machines are those, and
    `kinds` and `rack` say nothing.  Machines of one kind are not equally fast: each has a factor of its own that stays
    what it is and that nobody is told, whose logarithm has the standard deviation `uneven`.
    """

    machines: int = 8
    kinds: tuple[str, ...] = ("v100x4",)
    rack: int = RACK  # machines
    shares: tuple[float, ...] = ()  # of each kind; none: in turn
    listed: tuple[Machine, ...] = ()
    uneven: float = 0.0  # 0: all alike

    def __post_init__(self) -> None:
        if not 1 <= self.machines <= MAX_MACHINES:
            raise ConfigError(f"machines is {self.machines}; expected 1 or more, {MAX_MACHINES:,} at most")
        if self.rack < 1:
            raise ConfigError(f"rack is {self.rack}; expected 1 or more machines in a rack")
        if not 0.0 <= self.uneven <= MOST_UNEVEN:  # nan is in no range
            raise ConfigError(f"uneven is {self.uneven}; expected 0 (all alike) to {MOST_UNEVEN:g}")
        if self.listed:
            self._check_list()
            return
        if not self.kinds:
            raise ConfigError("kinds: expected at least one kind of machine")
        for kind in self.kinds:
            if kind not in MACHINE_KINDS:
                raise UnknownName("kind of machine", kind, MACHINE_KINDS)
        if self.shares and (len(self.shares) != len(self.kinds) or min(self.shares) < 0 or sum(self.shares) <= 0):
            raise ConfigError(f"shares: expected one number from 0 for each of the {len(self.kinds)} kinds, not all 0")

    def arrays(self) -> Machines:
        listed = self.listed or self._made()
        return Machines(
            name=tuple(one.name for one in listed),
            type=np.array([TYPE_INDEX[one.type] for one in listed], np.int64),
            gpus=np.array([one.gpus for one in listed], np.int64),
            cpus=np.array([one.cpus for one in listed], np.float64),
            memory=np.array([one.memory for one in listed], np.float64),
            rack=np.array([one.rack for one in listed], np.int64),
        )

    def _made(self) -> tuple[Machine, ...]:
        made = []
        for place, name in enumerate(self._kind_names()):
            kind = MACHINE_KINDS[name]
            made.append(Machine(f"m{place}", kind.type, kind.gpus, kind.cpus, kind.memory, place // self.rack))
        return tuple(made)

    def _kind_names(self) -> list[str]:
        if not self.shares:
            return [self.kinds[place % len(self.kinds)] for place in range(self.machines)]
        ends = np.round(np.cumsum(self.shares) / sum(self.shares) * self.machines).astype(np.int64)
        return [self.kinds[int(np.searchsorted(ends, place, side="right"))] for place in range(self.machines)]

    def _check_list(self) -> None:
        if self.machines != len(self.listed):
            raise ConfigError(f"machines is {self.machines}, but {len(self.listed)} are listed")
        names = [one.name for one in self.listed]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"machine {twice}: this name is there twice")
        for one in self.listed:
            if one.type not in TYPE_INDEX:
                raise UnknownName("type of GPU", one.type, TYPE_INDEX)
            if not 0 <= one.gpus <= MAX_DEVICES:
                raise ConfigError(f"machine {one.name}: {one.gpus} GPUs; expected 0 to {MAX_DEVICES}")
            if not (one.cpus > 0 and one.memory > 0 and one.rack >= 0):
                raise ConfigError(f"machine {one.name}: expected processors and memory above 0 and a rack from 0")


def cluster_of(machines: tuple[Machine, ...]) -> GpuCluster:
    """The cluster of these machines."""
    return GpuCluster(machines=len(machines), kinds=(), listed=machines)
