"""dag/critical-path: the stage with the longest chain of work behind it first, over all jobs.

The classic list-scheduling rule for one DAG (Graham 1969; HEFT's upward rank), applied to all jobs at once as
if they were one.  It takes no account of how many jobs wait, so average completion time suffers.  Each chosen
stage gets as many executors as it can use: where work does not grow with parallelism that shortens the makespan;
where it does (`tpch-like`), the makespan suffers too.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import ListRule, Order, OrderRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class CriticalPath(ListScheduler):
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(ListRule(order=OrderRule(Order.NONE, ready_first=False), reason=Reason.LONGEST_CRITICAL_PATH))
