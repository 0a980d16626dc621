"""The machines with the fewest free GPUs that fit, so that others stay whole."""

from __future__ import annotations

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class Pack(ScoringPlace):
    WHY = Place.FULLEST_MACHINE
    CODE = PlaceCode.PACK

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        return -room.gpus
