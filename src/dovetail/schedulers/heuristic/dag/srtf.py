"""dag/srtf: shortest remaining time first, which is optimal on one machine without moving cost.

The job with the least work left gets as many executors as it can use, then the next one.  Preemptive at
decision points: executors on offer leave their job as soon as another has less work left.  On a cluster the
rule suffers from what it does not see: the moving delay, and that a job gains less and less from further
executors.

Departure: "time" is the work left in task-seconds, an estimate from mean durations; the true time is not
known.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import ListRule, Order, OrderRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class Srtf(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(ListRule(order=OrderRule(Order.WORK_LEFT), reason=Reason.LEAST_WORK_LEFT))
