"""Kubernetes' packing score: the machine of which most is taken, of all resources, once the worker stands there."""

from __future__ import annotations

from dovetail.core.gpu import Floats, Place
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.places.least_allocated import free_part
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class MostAllocated(ScoringPlace):
    WHY = Place.MOST_ALLOCATED
    CODE = PlaceCode.MOST_ALLOCATED

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        return -free_part(room, need)
