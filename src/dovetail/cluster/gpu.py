"""Machines with GPUs: types and prices, kinds of machines, and clusters of them in racks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import ConfigError, UnknownName

MAX_MACHINES = 100_000
MAX_DEVICES = 16  # of a machine


class GpuType(NamedTuple):
    """A type of GPU, and what an hour of one costs."""

    name: str
    usd_per_hour: float


GPU_TYPES = (
    GpuType("V100", 3.06),
    GpuType("A100", 4.10),
    GpuType("T4", 0.526),
    GpuType("A10", 1.006),
    GpuType("P100", 1.46),
    GpuType("K80", 0.90),
)
"""In the order of every type index; masks of types have a bit for each.  The first is the reference."""
TYPE_INDEX = {kind.name: index for index, kind in enumerate(GPU_TYPES)}


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
        MachineKind("t4x4", "T4", gpus=4, cpus=48, memory=192),
        MachineKind("a10x4", "A10", gpus=4, cpus=48, memory=192),
        MachineKind("p100x2", "P100", gpus=2, cpus=16, memory=120),
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
class GpuCluster:
    """So many machines of the named kinds in turn, and so many of them in a rack."""

    machines: int = 8
    kinds: tuple[str, ...] = ("v100x4",)
    rack: int = 16  # machines

    def __post_init__(self) -> None:
        if not 1 <= self.machines <= MAX_MACHINES:
            raise ConfigError(f"machines is {self.machines}; expected 1 or more, {MAX_MACHINES:,} at most")
        if self.rack < 1:
            raise ConfigError(f"rack is {self.rack}; expected 1 or more machines in a rack")
        if not self.kinds:
            raise ConfigError("kinds: expected at least one kind of machine")
        for kind in self.kinds:
            if kind not in MACHINE_KINDS:
                raise UnknownName("kind of machine", kind, MACHINE_KINDS)

    def arrays(self) -> Machines:
        kinds = [MACHINE_KINDS[self.kinds[place % len(self.kinds)]] for place in range(self.machines)]
        return Machines(
            name=tuple(f"m{place}" for place in range(self.machines)),
            type=np.array([TYPE_INDEX[kind.type] for kind in kinds], np.int64),
            gpus=np.array([kind.gpus for kind in kinds], np.int64),
            cpus=np.array([kind.cpus for kind in kinds], np.float64),
            memory=np.array([kind.memory for kind in kinds], np.float64),
            rack=np.arange(self.machines) // self.rack,
        )
