"""dag/fair-spill: equal caps, smallest job first, and nothing stays idle.  Our own strongest simple rule.

cap = ceil(executors / unsaturated jobs).  A job below its cap keeps its executors, a job at its cap lets them
go.  Otherwise, among the jobs below the cap the one with the least work left comes first, and within a job
stages that can start, then the longest chain of stages.  Executors that no job may take under the caps spill
over: the job with the least work left that can use them gets all on offer.

Compared with `dag/fair` it corrects three things: a job that became too large gives executors back, short
jobs leave early, and no executor idles while a task waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import (
    ALPHA_GRID,
    Keep,
    ListRule,
    Order,
    OrderRule,
    SizeRule,
    check_alpha,
)
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class FairSpill(ListScheduler):
    TUNE: ClassVar = {"alpha": ALPHA_GRID}

    @dataclass(frozen=True)
    class Params:
        alpha: float = field(default=0.0, metadata={"help": "cap in proportion to total work ** alpha; 0: equal"})
        keep: bool = field(default=True, metadata={"help": "below its cap a job keeps its executors"})
        ready_first: bool = field(default=True, metadata={"help": "stages that can start before ones that wait"})
        total_work: bool = field(default=False, metadata={"help": "order by total work, not by work left"})

        def __post_init__(self) -> None:
            check_alpha(self.alpha)

    def __init__(self, params: Params = Params()) -> None:
        order = Order.TOTAL_WORK if params.total_work else Order.WORK_LEFT
        keep = Keep.BELOW_CAP if params.keep else Keep.NEVER
        super().__init__(
            ListRule(
                order=OrderRule(order, ready_first=params.ready_first),
                size=SizeRule(capped=True, alpha=params.alpha, keep=keep, spill=True),
                reason=Reason.BELOW_FAIR_SHARE,
            )
        )
