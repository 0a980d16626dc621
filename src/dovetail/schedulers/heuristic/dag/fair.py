"""dag/fair: an equal share of the executors for every job, as in the public code of Decima (SIGCOMM 2019).

cap = ceil(executors / unsaturated jobs), worked out anew at each decision.  Executors on offer go first to a
stage of the job they are at, all of them and whatever the cap; otherwise to the first job in order of arrival
that holds fewer than the cap, up to the cap; otherwise they stay idle.  Stages that can start go first, then
by stage id.

It is not work-conserving, on purpose: the published comparisons are against this rule.  `dag/fair-spill` is
the better one.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import Keep, ListRule, Order, OrderRule, SizeRule, StageRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class Fair(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.ARRIVAL, StageRule.LOWEST_ID),
                size=SizeRule(capped=True, keep=Keep.ALWAYS),
                reason=Reason.BELOW_FAIR_SHARE,
            )
        )
