"""dag/fair-memory: every job uses equally much memory, whatever threads that makes.

The job whose running tasks use the least memory goes first, up to the number of executors with which all jobs that
want more would use equally much.  What nobody may take under these caps spills over.

This is the naive fair policy by memory of emergent scheduling (Dean and Porter, SEAMS 2021).  Where no stage needs
memory it is the same as equal shares of executors.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import Equal, Keep, ListRule, Order, OrderRule, SizeRule, StageRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class FairMemory(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.MEMORY_USED, StageRule.LOWEST_ID),
                size=SizeRule(capped=True, equal=Equal.MEMORY, keep=Keep.BELOW_CAP, spill=True),
                reason=Reason.BELOW_FAIR_SHARE,
            )
        )
