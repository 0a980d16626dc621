"""Fragmentation gradient descent (Weng et al., "Beware of Fragmentation", USENIX ATC 2023).

For a demand c, a free GPU share of a machine is a fragment if c could not use it:

    F(n, c) = all free shares of machine n                        if c does not fit n, or needs no GPU
              the free shares of devices with less than min(c, 1) otherwise
    F(n)    = sum over c of popularity(c) * F(n, c)

A worker goes to the machine where F grows least.  Popularity is counted over the jobs seen so far, each once.
Departures: the device is the world's choice, not the scheduler's; demands are told apart by GPUs, the next power of two
of processors and of memory, and types; the first 64 that were seen are counted, others are not.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, GpuView, Ints, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import TOLERANCE, Need, Room, allowed_types
from dovetail.schedulers.kernels.gpu_codes import MOST_CLASSES, PlaceCode

Demand = tuple[int, int, int, int]
"""Thousandths of a GPU, processors, GB, and a mask of types."""


class Fgd(ScoringPlace):
    WHY = Place.LEAST_FRAGMENTATION
    CODE = PlaceCode.FGD

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._seen: dict[Demand, int] = {}
        self._last = -1

    def begin(self, view: GpuView) -> None:
        for job, number in enumerate(view.job_id.tolist()):
            if number <= self._last:
                continue
            demand = demand_of(view, self.info, job)
            if demand in self._seen or len(self._seen) < MOST_CLASSES:
                self._seen[demand] = self._seen.get(demand, 0) + 1
        self._last = max([self._last, *view.job_id.tolist()])

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        after = room.copy()
        after.device[:] = _after(room, need)
        after.gpus[:] -= need.gpus
        after.cpus[:] -= need.cpus
        after.memory[:] -= need.memory
        after.whole[:] = (after.device >= 1.0 - TOLERANCE).sum(axis=1)
        shrinks: Floats = self.fragmentation(room) - self.fragmentation(after)
        return shrinks / max(1, sum(self._seen.values()))

    def fragmentation(self, room: Room) -> Floats:
        """(M,) F of each machine, times the number of jobs counted."""
        info, total = room.info, np.zeros(len(room.gpus))
        for (thousandths, cpus, memory, types), count in self._seen.items():
            gpus = thousandths / 1000.0
            runs = (types >> info.machine_type & 1 == 1) & (room.cpus + TOLERANCE >= cpus)
            runs &= room.memory + TOLERANCE >= memory
            if gpus >= 1.0:
                runs &= room.whole >= gpus
            elif gpus > 0.0:
                runs &= (room.device + TOLERANCE >= gpus).any(axis=1)
            else:
                runs[:] = False
            useless = np.zeros(len(room.gpus))
            for device in range(room.device.shape[1]):
                free = room.device[:, device]
                useless = np.where(free + TOLERANCE < min(gpus, 1.0), useless + free, useless)
            total = total + count * np.where(runs, useless, room.gpus)
        return total


def demand_of(view: GpuView, info: GpuInfo, job: int) -> Demand:
    allowed = allowed_types(info, int(view.job_types[job]), int(view.job_kind[job]))
    there = np.isin(np.arange(len(allowed)), info.machine_type)
    return (
        round(float(view.job_gpus[job]) * 1000.0),
        _power(float(view.job_cpus[job])),
        _power(float(view.job_memory[job])),
        sum(1 << t for t in np.flatnonzero(allowed & there).tolist()),
    )


def _power(value: float) -> int:
    """The next power of two; 0 of nothing."""
    if value <= TOLERANCE:
        return 0
    power = 1
    while power + TOLERANCE < value:
        power *= 2
    return power


def _after(room: Room, need: Need) -> Floats:
    """(M, D) shares of devices once the worker stands there; machines where it does not fit mean nothing."""
    device = room.device.copy()
    if need.gpus >= 1.0:
        whole = device >= 1.0 - TOLERANCE
        given: Ints = whole.cumsum(axis=1)
        device[whole & (given <= need.gpus)] -= 1.0
    elif need.gpus > 0.0:
        enough = np.where(device + TOLERANCE >= need.gpus, device, np.inf)
        chosen = enough.argmin(axis=1)
        device[np.arange(len(device)), chosen] -= need.gpus
    return device
