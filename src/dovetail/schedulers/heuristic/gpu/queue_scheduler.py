"""Schedulers of GPU jobs that are an order and a place: interpreted in Python, and as a compiled twin.

Candidates are taken by the order; each one's workers are placed; a job that does not fit waits, and others go on
(unless the order says that nobody may pass it).  Where the world allows it, a preemptive order also stops running jobs
(`preemption`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from dovetail.core.gpu import GpuDecision, GpuInfo, GpuKernel, GpuView
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart, PreemptiveOrder
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.preemption import make_room
from dovetail.schedulers.heuristic.gpu.room import Need, Room


class QueueScheduler:
    """An order and a place.  `pairing.pair` makes the classes, one for each combination."""

    ORDER: ClassVar[type[OrderPart]]
    PLACE: ClassVar[type[PlacePart]]
    Params: ClassVar[type[Any]]
    TUNE: ClassVar[dict[str, tuple[Any, ...]]]

    def __init__(self, params: Any = None) -> None:
        self.params = self.Params() if params is None else params
        self.order = self.ORDER(self.params.of_part(0))
        self.place = self.PLACE(self.params.of_part(1))

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._stopped_at_s = -np.inf
        self.order.reset(info, rng)
        self.place.reset(info, rng)

    def kernel(self) -> GpuKernel | None:
        """None where a part is not known to the compiled twin, or running jobs are to be stopped."""
        if self.order.CODE < 0 or self.place.CODE < 0 or self._stopping() is not None:
            return None
        from dovetail.schedulers.heuristic.gpu.compiled import queue_kernel_of

        return queue_kernel_of(self._info, self.order, self.place)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        room = Room.of(view, self._info)
        self.place.begin(view)
        found = self._starts(view, room)
        stopping = self._stopping()
        if stopping is not None and view.time_s > self._stopped_at_s:
            waiting = [job for job in range(len(view.job_id)) if job not in {one.job for one in found}]
            stops = make_room(view, self._info, room, stopping, self.place, waiting)
            if stops:
                self._stopped_at_s = view.time_s
            found += stops
        return found

    def begun(self, view: GpuView, job: int) -> None:
        """A job starts where its gang was placed last; for those that learn from it."""

    def _stopping(self) -> PreemptiveOrder | None:
        """The order, if it may stop running jobs."""
        return self.order if isinstance(self.order, PreemptiveOrder) and self._info.preemption else None

    def _starts(self, view: GpuView, room: Room) -> list[GpuDecision]:
        order = self.order
        candidates = order.begin(view, room)
        keys = order.keys(view, room, candidates).copy()
        found: list[GpuDecision] = []
        while len(keys) and np.isfinite(keys.min()):
            chosen = int(keys.argmin())
            job, types, key = int(candidates.job[chosen]), int(candidates.types[chosen]), float(keys[chosen])
            keys[chosen] = np.inf
            need = Need.of(view, self._info, job, types)
            before = room.copy() if order.VETOES else room
            gang = self.place.gang(room, need, job) if room.fits(need).any() else None
            if gang is None:
                if order.blocked(view, room, job):
                    break
                continue
            if order.VETOES and not order.allows(view, room, job, gang):
                room.become(before)
                continue
            machines = np.array(gang.machines, np.int64)
            found.append(
                GpuDecision(
                    job,
                    machines,
                    reason=order.reason(job),
                    place=self.place.WHY,
                    priority=-key,
                    affinity=gang.affinity,
                )
            )
            order.started(view, job)
            self.begun(view, job)
            keys[candidates.job == job] = np.inf
            if order.DYNAMIC:
                left = np.flatnonzero(np.isfinite(keys))
                keys[left] = order.keys(view, room, Candidates(candidates.job[left], candidates.types[left]))
        return found
