"""A scheduler decides once about nothing real: what it has to compile or load would otherwise keep stages waiting."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagView
from dovetail.core.protocols import Scheduler
from dovetail.execution.engines.spark.jobs import Jobs
from dovetail.execution.engines.spark.messages import Event, JobStarted, Look, Names, StageKnown, StageSubmitted
from dovetail.execution.engines.spark.view import Offer, info_of, view_of

SLOTS = 4


def rehearse(scheduler: Scheduler[DagInfo, DagView, DagDecision]) -> None:
    """Two jobs of two stages, all slots free.  It has to be reset afterwards."""
    jobs = Jobs()
    events: list[Event] = []
    for number in range(2):
        first, second = 2 * number, 2 * number + 1
        stages = (StageKnown(first, 8, False, (), "map"), StageKnown(second, 2, False, (first,), "sum"))
        events += [JobStarted(0.0, number, Names(f"job{number}", "", ""), stages), StageSubmitted(first, 8)]
    jobs.update(Look(0.0, SLOTS, False, (), tuple(events)))
    view, _ = view_of(jobs.active(), Offer(SLOTS, None), set(), 0.0)
    scheduler.reset(info_of(SLOTS), np.random.default_rng(0))
    scheduler.decide(view)
