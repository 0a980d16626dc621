"""dag/fair-threads: every job runs equally many threads, whatever memory they need.

The job whose running tasks use the fewest threads goes first, up to the number of executors with which all jobs that
want more would use equally many.  What nobody may take under these caps spills over.

This is the naive fair policy by threads of emergent scheduling (Dean and Porter, SEAMS 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import Equal, Keep, ListRule, Order, OrderRule, SizeRule, StageRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class FairThreads(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.THREADS_USED, StageRule.LOWEST_ID),
                size=SizeRule(capped=True, equal=Equal.THREADS, keep=Keep.BELOW_CAP, spill=True),
                reason=Reason.BELOW_FAIR_SHARE,
            )
        )
