"""The job that needs the fewest GPUs, all its workers together."""

from __future__ import annotations

from dovetail.core.gpu import Floats, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Smallest(OrderPart):
    REASON = Reason.SMALLEST
    CODE = OrderCode.SMALLEST

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        gpus: Floats = view.job_workers[candidates.job] * view.job_gpus[candidates.job]
        return gpus
