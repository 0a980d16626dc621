"""Shortest remaining time first, by GPU-time (`by=area`: seconds left x workers x GPUs) or by seconds (`by=time`).

By area it is the rule that lets the most jobs out of the queue for the same GPUs; work counts at speed 1, and a worker
without GPUs counts as a tenth of one.  Where running jobs may be stopped, those with more than `margin` times as much
left as a waiting job make room for it: at 1 the textbook's rule, above it stops that hardly pay are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from dovetail.core.gpu import Floats, GpuView, Ints, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, PreemptiveOrder, gpu_time
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Srtf(PreemptiveOrder):
    @dataclass(frozen=True)
    class Params:
        by: Literal["area", "time"] = field(default="area", metadata={"help": "GPU-time left, or time alone"})
        margin: float = field(default=2.0, metadata={"help": "stop only who has so many times more left; from 1"})

        def __post_init__(self) -> None:
            if not 1.0 <= self.margin < float("inf"):
                raise ValueError(f"margin is {self.margin}; expected a factor of 1 or more")

    REASON = Reason.LEAST_LEFT
    CODE = OrderCode.SRTF
    TUNE: ClassVar = {"by": ("area", "time")}

    def numbers(self) -> tuple[float, ...]:
        return (float(self.params.by == "area"),)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        job = candidates.job
        return self._left(view.job_left_s[job], view.job_workers[job], view.job_gpus[job])

    def run_keys(self, view: GpuView) -> Floats:
        left: Floats = self._left(view.run_left_s, view.run_workers, view.run_gpus) / self.params.margin
        return left

    def _left(self, left_s: Floats, workers: Ints, gpus: Floats) -> Floats:
        return gpu_time(left_s, workers, gpus) if self.params.by == "area" else np.asarray(left_s)
