"""dag/hesrpt: shares by rank of the work left, so that short jobs leave early without starving the others.

For jobs that all speed up as executors ** q and are there from the start, heSRPT (Berg, Vesilo and Harchol-Balter,
2020) is optimal for the mean completion time: of m jobs, the one with the i-th most work left gets
(i/m)^e - ((i-1)/m)^e of the executors, e = 1 / (1 - q).  q near 0 is equal shares, q near 1 all to the shortest.

Here a job is a DAG, its speed-up is only roughly a power, and executors are whole and cost a move: a share is a cap,
rounded up, a job below its cap keeps its executors, and what no job may take spills over as in `dag/fair-spill`,
which is this rule with q = 0.  Where executors differ in size, of a job's stages that can start the one that fits on
the fewest executors goes first, or the large executors would be taken by tasks that could run anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.list_rule import Keep, ListRule, Order, OrderRule, SizeRule, StageRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class HeSrpt(ListScheduler):
    TUNE: ClassVar = {"speedup": tuple(twentieths / 20 for twentieths in range(19))}

    @dataclass(frozen=True)
    class Params:
        speedup: float = field(default=0.5, metadata={"help": "jobs are taken to speed up as executors ** this"})

        def __post_init__(self) -> None:
            if not 0.0 <= self.speedup < 1.0:
                raise ValueError(f"speedup is {self.speedup}; expected an exponent from 0 to below 1")

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(Order.WORK_LEFT, StageRule.SCARCE),
                size=SizeRule(capped=True, speedup=params.speedup, keep=Keep.BELOW_CAP, spill=True),
                reason=Reason.BELOW_WEIGHTED_SHARE,
            )
        )
