"""Tetris (Grandl et al., SIGCOMM 2014): the job whose demands match best what is free, short jobs favoured.

The alignment of a job is the largest, over machines where one of its workers fits, of the sum over resources of demand
x free, both as parts of the machine.  The published score is

    a(j) + weight * (mean a / mean p) * (-p(j))      p: GPU-time left; means over the jobs that may fit now

Departures: a gang counts by the worker that fits best, not by all; there is no penalty for data far away, for jobs here
read none; nobody is kept waiting for fairness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.gpu import Floats, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart, gpu_time
from dovetail.schedulers.heuristic.gpu.places.alignment import alignment
from dovetail.schedulers.heuristic.gpu.room import Need, Room, in_turn
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Tetris(OrderPart):
    @dataclass(frozen=True)
    class Params:
        weight: float = field(default=1.0, metadata={"help": "how much short jobs are favoured; 0: not at all"})

        def __post_init__(self) -> None:
            if not 0.0 <= self.weight <= 1e6:
                raise ValueError(f"weight is {self.weight}; expected 0 to 1e6")

    REASON = Reason.BEST_ALIGNED
    CODE = OrderCode.TETRIS
    DYNAMIC = True
    TUNE: ClassVar = {"weight": (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)}

    def numbers(self) -> tuple[float, ...]:
        return (self.params.weight,)

    def begin(self, view: GpuView, room: Room) -> Candidates:
        self._left = gpu_time(view.job_left_s, view.job_workers, view.job_gpus)
        aligned = self._alignments(view, room, range(len(view.job_id)))
        possible = np.isfinite(aligned)
        mean_a, mean_p = in_turn(aligned[possible]), in_turn(self._left[possible])
        self._scale = self.params.weight * (mean_a / mean_p) if mean_p > 0.0 else 0.0
        return super().begin(view, room)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        jobs = candidates.job
        keys: Floats = self._scale * self._left[jobs] - self._alignments(view, room, jobs.tolist())
        return keys

    def _alignments(self, view: GpuView, room: Room, jobs: range | list[int]) -> Floats:
        """Of each of them; -inf where it cannot fit."""
        found = np.full(len(jobs), -np.inf)
        for place, job in enumerate(jobs):
            need = Need.of(view, self.info, job)
            if room.is_possible(need):
                found[place] = np.where(room.fits(need), alignment(room, need), -np.inf).max()
        return found
