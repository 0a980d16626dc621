"""Any order, drawn anew at every decision."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.chance import drawn
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Random(OrderPart):
    REASON = Reason.DRAWN_AT_RANDOM
    CODE = OrderCode.RANDOM

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._key = int(rng.integers(1 << 62))
        self._count = 0

    def key(self) -> int:
        return self._key

    def begin(self, view: GpuView, room: Room) -> Candidates:
        self._count += 1
        return super().begin(view, room)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        return np.array([drawn(self._key, self._count, job) for job in candidates.job.tolist()], np.float64)
