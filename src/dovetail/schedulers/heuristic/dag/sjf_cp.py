"""dag/sjf-cp: shortest job first, critical path within the job (a baseline of Decima, SIGCOMM 2019).

The job with the least total work gets as many executors as it can use, then the next one.  Within a job,
stages that can start go first, then the one with the longest chain of stages behind it.  Executors are not
kept: whenever some are on offer, the shortest job has the first claim, wherever they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import ListRule, Order, OrderRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class SjfCp(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(ListRule(order=OrderRule(Order.TOTAL_WORK), reason=Reason.SHORTEST_JOB))
