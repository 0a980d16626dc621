"""The machines where the least is left over: the sum over resources, each as a part of the largest machine's."""

from __future__ import annotations

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class BestFit(ScoringPlace):
    WHY = Place.BEST_FIT
    CODE = PlaceCode.BEST_FIT

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        info = room.info
        left_over = (
            (room.gpus - need.gpus) / max(float(info.machine_gpus.max()), 1e-9)
            + (room.cpus - need.cpus) / max(float(info.machine_cpus.max()), 1e-9)
            + (room.memory - need.memory) / max(float(info.machine_memory.max()), 1e-9)
        )
        return -left_over
