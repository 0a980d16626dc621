"""What Kubernetes does unless it is told otherwise: the machine of which most is free after the worker stands there.

The score is the mean over GPUs, processors and memory of the part that is free; a resource that the machine does not
have is left out.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class LeastAllocated(ScoringPlace):
    WHY = Place.LEAST_ALLOCATED
    CODE = PlaceCode.LEAST_ALLOCATED

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        return free_part(room, need)


def free_part(room: Room, need: Need) -> Floats:
    """(M,) of each machine, once the worker stands there."""
    info = room.info
    total, count = np.zeros(len(room.gpus)), np.zeros(len(room.gpus))
    for free, each, has in (
        (room.gpus, need.gpus, info.machine_gpus.astype(np.float64)),
        (room.cpus, need.cpus, info.machine_cpus),
        (room.memory, need.memory, info.machine_memory),
    ):
        there = has > 0.0
        total = np.where(there, total + (free - each) / np.where(there, has, 1.0), total)
        count = np.where(there, count + 1.0, count)
    part: Floats = total / np.maximum(count, 1.0)
    return part
