"""dag/weighted-fair: shares in proportion to total work ** alpha (tuned: Decima's strongest baseline, 2019).

cap of job j = ceil(executors * w_j / sum of w over the unsaturated jobs), w = total work ** alpha.  alpha = 1
is the "naive" weighted fair (large jobs get more), 0 equal shares, below 0 favours small jobs; the tuned one
is the alpha in [-2, 2] that does best on training seeds.  Executors stay with their job while it is below its
cap; then jobs in order of arrival; within a job stages that can start, then the longest chain of stages.

Departure: it is work-conserving.  What no job may take under the caps goes to whoever can use it, as in
fair-spill.
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


class WeightedFair(ListScheduler):
    TUNE: ClassVar = {"alpha": ALPHA_GRID}

    @dataclass(frozen=True)
    class Params:
        alpha: float = field(default=-0.5, metadata={"help": "share in proportion to total work ** alpha"})

        def __post_init__(self) -> None:
            check_alpha(self.alpha)

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.ARRIVAL),
                size=SizeRule(capped=True, alpha=params.alpha, keep=Keep.BELOW_CAP, spill=True),
                reason=Reason.BELOW_WEIGHTED_SHARE,
            )
        )
