"""The machines with the most free GPUs (worst fit): the load is balanced, and gangs stand far apart."""

from __future__ import annotations

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class LoadBalance(ScoringPlace):
    WHY = Place.MOST_FREE
    CODE = PlaceCode.LOAD_BALANCE

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        return room.gpus
