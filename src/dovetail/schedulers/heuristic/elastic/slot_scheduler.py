"""What the schedulers that plan slot by slot share: in each slot they divide anew what is free in it.

Jobs for which something is booked or promised by somebody else (another scheduler, before a change of schedulers) are
left alone.  A job of which not one worker fits even an empty cluster is rejected, or it would wait for ever and, where
jobs are served strictly in order, all others with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticInfo, ElasticView, Ints, Reason
from dovetail.schedulers.heuristic.elastic.placing import Placing, SlotRoom, Standing, most_workers


class Waiting(NamedTuple):
    """The jobs that may be given workers in this slot."""

    jobs: Ints  # (n,) job indexes, by arrival
    fit: Ints  # (J,) of every job of the view: workers that fit an empty cluster, and that the job may have
    useful: Ints  # (J,) the same, and no more than it has work left for


class SlotScheduler(ABC):
    """A rule of who gets how many workers in the present slot: `fill` puts them there."""

    REASON: ClassVar[Reason] = Reason.UNSTATED

    def __init__(self, placing: Placing) -> None:
        self._placing: Placing = placing
        self._info: ElasticInfo | None = None
        self._fit: dict[int, int] = {}  # job id -> workers that fit an empty cluster

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._fit = {}

    @property
    def info(self) -> ElasticInfo:
        assert self._info is not None, "reset comes first"
        return self._info

    @abstractmethod
    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        """Put workers into the room; what is returned are decisions besides, such as rejections."""

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        fit = self._fits(view)
        free = view.job_promise < 0
        free[view.booked_job] = False
        decisions = [
            ElasticDecision(int(job), rejected=True, reason=Reason.CANNOT_FINISH)
            for job in np.flatnonzero(free & (fit == 0))
        ]
        waiting = Waiting(np.flatnonzero(free & (fit > 0)), fit, np.minimum(fit, view.job_work_left))
        room = SlotRoom.of(view, self._placing)
        decisions += self.fill(view, waiting, room)
        decisions += [
            ElasticDecision(job, room.standing(job).plan(view.slot), reason=self.reason(job)) for job in room.placed()
        ]
        return decisions

    def reason(self, job: int) -> Reason:
        """Why the job was given what it has; a job index."""
        return self.REASON

    def _fits(self, view: ElasticView) -> Ints:
        new = [place for place, job in enumerate(view.job_id.tolist()) if job not in self._fit]
        if new:
            fit = most_workers(self.info, view.job_worker_demand[new], view.job_server_demand[new])
            self._fit.update(zip(view.job_id[new].tolist(), fit.tolist(), strict=True))
        fits = np.array([self._fit[job] for job in view.job_id.tolist()], dtype=np.int64)
        return np.minimum(fits, view.job_max_workers)


class FixedScheduler(SlotScheduler):
    """A job that has started keeps its workers, all of them and where they are, until it is complete.

    `start` says in which order others may start; each has a fixed number of workers or none.
    """

    def __init__(self, placing: Placing, workers: int) -> None:
        super().__init__(placing)
        self._workers = workers
        self._standing: dict[int, Standing] = {}  # job id -> where it stood in the last slot

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._standing = {}

    def fixed(self, view: ElasticView, waiting: Waiting) -> Ints:
        """(J,) workers of each job: the fixed number, or fewer if the job or the cluster cannot take so many."""
        return np.minimum(np.minimum(waiting.fit, view.job_work), self._workers)

    def keep_or_start(
        self, view: ElasticView, waiting: Waiting, room: SlotRoom, order: Ints, *, strict: bool, preempt: bool = False
    ) -> None:
        """Those that stood stay, then others start in this order of job indexes; `preempt`: nobody has a right to."""
        wanted = self.fixed(view, waiting)
        kept: set[int] = set()
        if not preempt:
            for job in waiting.jobs.tolist():
                before = self._standing.get(int(view.job_id[job]))
                if before is not None and room.put_back(job, before):
                    kept.add(job)
        order = np.array([job for job in order.tolist() if job not in kept], dtype=np.int64)
        room.put_in_order(order, wanted, wanted, strict=strict)
        self._standing = {int(view.job_id[job]): room.standing(job) for job in room.placed()}
