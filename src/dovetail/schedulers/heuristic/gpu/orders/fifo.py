"""First come, first served.  A job that does not fit waits and others pass it, unless `strict`."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.core.gpu import Floats, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Fifo(OrderPart):
    @dataclass(frozen=True)
    class Params:
        strict: bool = field(default=False, metadata={"help": "nobody passes a job that does not fit"})

    REASON = Reason.FIRST_ARRIVED
    CODE = OrderCode.FIFO

    def numbers(self) -> tuple[float, ...]:
        return (float(self.params.strict),)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        return candidates.job.astype(float)

    def blocked(self, view: GpuView, room: Room, job: int) -> bool:
        return bool(self.params.strict)
