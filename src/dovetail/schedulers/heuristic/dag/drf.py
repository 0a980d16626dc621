"""dag/drf: dominant resource fairness (Ghodsi et al., NSDI 2011).

The share of a job is the larger of its shares of the cluster's threads and memory: the sum over its stages of running
tasks times demand, divided by what the cluster has.  The job with the lowest share goes first.

Departures.  The paper hands out resources task by task; here a scheduler hands out several executors at once, so a job
may take them up to the number with which all jobs that want more would have equal dominant shares.  Executors are
containers of fixed size, so what binds is their number.  What nobody may take under these caps spills over.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import Equal, Keep, ListRule, Order, OrderRule, SizeRule, StageRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class Drf(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.DOMINANT_SHARE, StageRule.LOWEST_ID),
                size=SizeRule(capped=True, equal=Equal.DOMINANT, keep=Keep.BELOW_CAP, spill=True),
                reason=Reason.BELOW_FAIR_SHARE,
            )
        )
