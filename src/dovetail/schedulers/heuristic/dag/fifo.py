"""dag/fifo: first come, first served, as Spark's default scheduler does it.

The job that arrived first takes every executor it can use, then the next one.  Executors stay with their job
while it has a valid stage; stages that can start go before stages that must wait, then by stage id.

Departure: Spark grants a job the executors its user asked for; here a job asks for all it can use.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import Keep, ListRule, Order, OrderRule, SizeRule, StageRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class Fifo(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.ARRIVAL, StageRule.LOWEST_ID),
                size=SizeRule(keep=Keep.ALWAYS),
                reason=Reason.FIRST_ARRIVED,
            )
        )
