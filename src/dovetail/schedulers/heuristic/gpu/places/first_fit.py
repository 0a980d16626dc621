"""The first machines with room."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class FirstFit(ScoringPlace):
    WHY = Place.FIRST_FIT
    CODE = PlaceCode.FIRST_FIT

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        return -np.arange(len(room.gpus), dtype=np.float64)
