"""Dispatch parts: which jobs compete for the executors on offer, and how much work an executor is handed at a time.

Hawk (Delgado et al., USENIX ATC 2015) and Mercury (Karanasos et al., USENIX ATC 2015) treat long and short jobs
differently; a job is long here if its tasks take `long_s` or more on average, as in Hawk.  What they distribute over
many schedulers to save time is decided in one place here, so only who gets what is theirs: Hawk's reserved part and
probing, Mercury's guaranteed part and queues.  `batch_s` is for engines: the seconds of work that an executor should
be handed at once, so that fine tasks are not each waited for; the simulator has no use for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.dag import Bools, DagInfo, DagView
from dovetail.schedulers.heuristic.dag.list_rule import Keep


class DispatchPart:
    """All jobs compete; the limit is what size says."""

    KEEP: ClassVar[Keep] = Keep.NEVER
    NARROWS: ClassVar[bool] = False  # whether `competing` or `most` say anything
    batch_s: float = 0.0

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._executors = info.num_executors
        self._rng = rng

    def competing(self, view: DagView) -> Bools | None:
        """By stage index, which of the valid stages compete; None: all of them."""
        return None

    def most(self, view: DagView, job: int) -> int:
        """The number of executors that the job may be given beyond what it holds."""
        return self._executors


class Central(DispatchPart):
    pass


class Local(DispatchPart):
    KEEP = Keep.BELOW_CAP
    batch_s = 0.02


class Sticky(DispatchPart):
    KEEP = Keep.ALWAYS
    batch_s = 0.1


def _is_long(view: DagView, long_s: float) -> Bools:
    """By job index: whether its tasks are long on average."""
    tasks = np.bincount(view.stage_job, view.stage_tasks, len(view.job_id))
    is_long: Bools = view.job_work_s >= long_s * tasks
    return is_long


class Hawk(DispatchPart):
    """Long jobs share all but a reserved part.  Of the short ones only those that were probed compete.

    Departure: while no short job wants executors of the reserved part, a long one gets them singly.  What is declined
    is not offered again before something changes, and a long job whose own executors are too small would wait for
    ever.
    """

    KEEP = Keep.BELOW_CAP
    NARROWS = True
    batch_s = 0.02

    @dataclass(frozen=True)
    class Params:
        long_s: float = field(default=1.0, metadata={"help": "a job is long if its tasks take this long on average"})
        reserved: float = field(default=0.2, metadata={"help": "part of the executors that only short jobs get"})
        probes: int = field(default=2, metadata={"help": "short jobs asked at random at each decision"})

        def __post_init__(self) -> None:
            if not (self.long_s > 0.0 and 0.0 <= self.reserved < 1.0 and self.probes >= 1):
                raise ValueError("expected long_s above 0, reserved from 0 to below 1, probes of 1 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params

    def competing(self, view: DagView) -> Bools:
        is_long = _is_long(view, self.params.long_s)
        asked = np.zeros(len(view.job_id), np.bool_)
        short = np.unique(view.stage_job[view.stage_valid & ~is_long[view.stage_job]])
        asked[is_long] = short.size == 0 or self._room(view, is_long) > 0
        asked[self._rng.permutation(short)[: self.params.probes]] = True
        competing: Bools = asked[view.stage_job]
        return competing

    def most(self, view: DagView, job: int) -> int:
        is_long = _is_long(view, self.params.long_s)
        return max(1, self._room(view, is_long)) if is_long[job] else self._executors

    def _room(self, view: DagView, is_long: Bools) -> int:
        """Executors that long jobs may still be given."""
        theirs = max(1, int(self._executors * (1.0 - self.params.reserved)))
        return theirs - int(view.job_executors[is_long].sum())


class Mercury(DispatchPart):
    """Long jobs are guaranteed a part, in order; beyond it, everybody queues, first come, first served."""

    KEEP = Keep.BELOW_CAP
    NARROWS = True
    batch_s = 0.02

    @dataclass(frozen=True)
    class Params:
        long_s: float = field(default=1.0, metadata={"help": "a job is long if its tasks take this long on average"})
        guaranteed: float = field(default=0.5, metadata={"help": "part of the executors guaranteed to long jobs"})

        def __post_init__(self) -> None:
            if not (self.long_s > 0.0 and 0.0 < self.guaranteed <= 1.0):
                raise ValueError("expected long_s above 0, and guaranteed above 0, 1 at most")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params

    def competing(self, view: DagView) -> Bools:
        is_long = _is_long(view, self.params.long_s)[view.stage_job]
        guaranteed = is_long & view.stage_valid
        if guaranteed.any() and self._room(view) > 0:
            return guaranteed
        first = view.stage_job[view.stage_valid][0]  # jobs are in order of arrival
        competing: Bools = view.stage_job == first
        return competing

    def most(self, view: DagView, job: int) -> int:
        is_long = _is_long(view, self.params.long_s)
        room = self._room(view)
        return room if is_long[job] and room > 0 else self._executors

    def _room(self, view: DagView) -> int:
        """Executors of the guaranteed part that long jobs do not hold."""
        held = int(view.job_executors[_is_long(view, self.params.long_s)].sum())
        return max(1, int(self._executors * self.params.guaranteed)) - held
