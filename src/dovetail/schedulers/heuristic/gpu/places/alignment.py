"""The machine whose free resources match the worker's demands best, as in Tetris (Grandl et al., SIGCOMM 2014).

The score is the sum over GPUs, processors and memory of demand x free, both as parts of what the machine has.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class Alignment(ScoringPlace):
    WHY = Place.BEST_ALIGNED
    CODE = PlaceCode.ALIGNMENT

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        return alignment(room, need)


def alignment(room: Room, need: Need) -> Floats:
    """(M,) of each machine."""
    info = room.info
    total = np.zeros(len(room.gpus))
    for free, each, has in (
        (room.gpus, need.gpus, info.machine_gpus.astype(np.float64)),
        (room.cpus, need.cpus, info.machine_cpus),
        (room.memory, need.memory, info.machine_memory),
    ):
        there = has > 0.0
        part = np.where(there, has, 1.0)
        total = np.where(there, total + (each / part) * (free / part), total)
    return total
