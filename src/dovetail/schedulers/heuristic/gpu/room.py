"""What the machines have free while jobs are being placed on them, and which devices the world will hand out.

Devices are chosen as the world does it (docs/gpu-model.md): whole ones those of the lowest numbers; a share goes to the
device with the least free share that suffices.  `schedulers/kernels/gpu_room` is the compiled twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView, Ints

TOLERANCE = 1e-9  # the world's, of every comparison


class Need(NamedTuple):
    """What one worker of a job needs."""

    gpus: float
    cpus: float
    memory: float
    allowed: Bools  # (T,) types it may run on
    workers: int = 1
    kind: int = 0

    @classmethod
    def of(cls, view: GpuView, info: GpuInfo, job: int, mask: int = -1) -> Need:
        """Of a waiting job, on the types of `mask` only."""
        types, kind = int(view.job_types[job]) & mask, int(view.job_kind[job])
        return cls(
            float(view.job_gpus[job]),
            float(view.job_cpus[job]),
            float(view.job_memory[job]),
            allowed_types(info, types, kind),
            int(view.job_workers[job]),
            kind,
        )


class Gang(NamedTuple):
    """All workers of a job, placed."""

    machines: list[int]  # one for each worker
    devices: list[list[int]]  # that each of them gets
    affinity: float


def allowed_types(info: GpuInfo, types: int, kind: int) -> Bools:
    """(T,) types of the mask on which this kind of training can run at all."""
    found: Bools = np.array([types >> t & 1 == 1 for t in range(len(info.type_name))], np.bool_)
    found &= info.kind_speed[kind] > 0.0
    return found


@dataclass(frozen=True, eq=False)
class Room:
    """Free resources, written to as jobs are placed.  M machines, D devices each at most."""

    info: GpuInfo
    up: Bools  # (M,)
    device: Floats  # (M, D)
    gpus: Floats  # (M,)
    whole: Ints  # (M,)
    cpus: Floats  # (M,)
    memory: Floats  # (M,)

    @classmethod
    def of(cls, view: GpuView, info: GpuInfo) -> Room:
        return cls(
            info,
            view.machine_up,
            view.device_free.copy(),
            view.machine_gpus_free.copy(),
            view.machine_whole_free.copy(),
            view.machine_cpus_free.copy(),
            view.machine_memory_free.copy(),
        )

    def copy(self) -> Room:
        return Room(self.info, self.up, *(part.copy() for part in self._parts()))

    def become(self, other: Room) -> None:
        """As it was: subtracting and adding again would leave a residue."""
        for ours, theirs in zip(self._parts(), other._parts(), strict=True):
            ours[:] = theirs

    def _parts(self) -> tuple[NDArray[Any], ...]:
        return self.device, self.gpus, self.whole, self.cpus, self.memory

    def fits(self, need: Need) -> Bools:
        """(M,) whether one worker fits."""
        fits: Bools = self.up & need.allowed[self.info.machine_type]
        fits &= (self.cpus + TOLERANCE >= need.cpus) & (self.memory + TOLERANCE >= need.memory)
        if need.gpus >= 1.0:
            fits &= self.whole >= need.gpus
        elif need.gpus > 0.0:
            fits &= (self.device + TOLERANCE >= need.gpus).any(axis=1)
        return fits

    def capacity(self, need: Need) -> Ints:
        """(M,) how many workers fit; no more than the job has."""
        most = np.where(self.fits(need), need.workers, 0)
        for free, each in ((self.cpus, need.cpus), (self.memory, need.memory)):
            if each > 0.0:
                most = np.minimum(most, np.floor((free + TOLERANCE) / each).astype(np.int64))
        if need.gpus >= 1.0:
            most = np.minimum(most, self.whole // int(need.gpus))
        elif need.gpus > 0.0:
            most = np.minimum(most, np.floor((self.device + TOLERANCE) / need.gpus).astype(np.int64).sum(axis=1))
        return most

    def take(self, machine: int, need: Need) -> list[int]:
        """Put a worker there; the devices it gets."""
        devices = self.devices_for(machine, need)
        for device in devices:
            if self.device[machine, device] >= 1.0 - TOLERANCE:
                self.whole[machine] -= 1
            self.device[machine, device] -= min(need.gpus, 1.0)
        self.gpus[machine] -= need.gpus
        self.cpus[machine] -= need.cpus
        self.memory[machine] -= need.memory
        return devices

    def give_back(self, machine: int, devices: list[int], need: Need) -> None:
        for device in devices:
            self.device[machine, device] += min(need.gpus, 1.0)
            if self.device[machine, device] >= 1.0 - TOLERANCE:
                self.whole[machine] += 1
        self.gpus[machine] += need.gpus
        self.cpus[machine] += need.cpus
        self.memory[machine] += need.memory

    def devices_for(self, machine: int, need: Need) -> list[int]:
        free = self.device[machine].tolist()
        if need.gpus >= 1.0:
            return [d for d, share in enumerate(free) if share >= 1.0 - TOLERANCE][: int(need.gpus)]
        if need.gpus > 0.0:
            return [min((d for d, share in enumerate(free) if share + TOLERANCE >= need.gpus), key=lambda d: free[d])]
        return []

    def is_possible(self, need: Need) -> bool:
        """Cheap, and true of every gang that fits: one worker fits, and the GPUs of all of them are free somewhere."""
        return bool(self.fits(need).any()) and need.workers * need.gpus <= in_turn(self.gpus) + 1e-6


def in_turn(values: Floats) -> float:
    """The sum, added up from the first to the last, as compiled code does it."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total
