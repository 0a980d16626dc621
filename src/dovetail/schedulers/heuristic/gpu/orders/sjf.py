"""Shortest job first: by the seconds it is estimated to take at speed 1, whatever it needs meanwhile."""

from __future__ import annotations

from dovetail.core.gpu import Floats, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Sjf(OrderPart):
    REASON = Reason.SHORTEST
    CODE = OrderCode.SJF

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        return view.job_left_s[candidates.job]
