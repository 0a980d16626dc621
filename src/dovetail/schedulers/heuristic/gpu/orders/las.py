"""Least attained service, in two queues (Tiresias: Gu et al., NSDI 2019).  It needs no estimates.

A job that has received less than `threshold_s` GPU-seconds is in the first queue, afterwards in the second; within a
queue jobs go by arrival.  Where running jobs may be stopped, one of the second queue makes room for one of the first.
Departures: two queues rather than any number; nobody is promoted for having waited long; within a queue nobody is
stopped, for the world charges for restarts.  Where nobody may be stopped, it is first come, first served.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, PreemptiveOrder
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.kernels.gpu_codes import SECOND_QUEUE_S, OrderCode


class Las(PreemptiveOrder):
    @dataclass(frozen=True)
    class Params:
        threshold_s: float = field(
            default=57_600.0, metadata={"help": "GPU-seconds after which a job is of the second"}
        )

        def __post_init__(self) -> None:
            if not self.threshold_s > 0.0:
                raise ValueError(f"threshold_s is {self.threshold_s}; expected above 0")

    REASON = Reason.LEAST_SERVED
    CODE = OrderCode.LAS
    TUNE: ClassVar = {"threshold_s": (3_600.0, 14_400.0, 57_600.0, 200_000.0)}

    def numbers(self) -> tuple[float, ...]:
        return (self.params.threshold_s,)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        job = candidates.job
        return self._keys(view.job_served_s[job], view.job_arrival_s[job])

    def run_keys(self, view: GpuView) -> Floats:
        return self._keys(view.run_served_s, view.run_arrival_s)

    def may_stop(self, view: GpuView) -> Bools:
        return np.asarray(view.run_served_s >= self.params.threshold_s)

    def _keys(self, served_s: Floats, arrival_s: Floats) -> Floats:
        """Arrivals of the second queue come after all of the first."""
        return np.where(served_s >= self.params.threshold_s, SECOND_QUEUE_S, 0.0) + arrival_s
