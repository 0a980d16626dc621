"""Any machine with room, each equally likely."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, GpuView, Place
from dovetail.schedulers.heuristic.gpu.chance import drawn
from dovetail.schedulers.heuristic.gpu.place import ScoringPlace
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.kernels.gpu_codes import MOST_WORKERS, PlaceCode


class Random(ScoringPlace):
    WHY = Place.DRAWN_AT_RANDOM
    CODE = PlaceCode.RANDOM

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._key = int(rng.integers(1 << 62))
        self._count = 0

    def key(self) -> int:
        return self._key

    def begin(self, view: GpuView) -> None:
        self._count += 1

    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        """The machine whose turn it is has 1, all others 0."""
        fits = np.flatnonzero(room.fits(need))
        scores = np.zeros(len(room.gpus))
        if len(fits):
            number = drawn(self._key, self._count, job * MOST_WORKERS + worker)
            scores[fits[int(number * len(fits))]] = 1.0
        return scores
