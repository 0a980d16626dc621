"""dag/graphene: troublesome stages first, after Graphene (OSDI 2016), as Decima's baseline Graphene* has it.

Graphene finds the stages of a DAG that are long or hard to pack, places those first and the rest around them.
Here every job gets a weighted share of the executors (total work ** alpha, as in weighted-fair, spilling over
likewise), and within a job the group of troublesome stages and all they depend on goes before the others;
inside each group stages with the longest chain behind them go first.

Departures.  (1) Graphene builds a schedule off line and follows it; here only its order is used, worked out
at each decision.  (2) It tries many thresholds per DAG and keeps the best schedule; here the two thresholds
are parameters for all jobs, to be tuned.  (3) "Hard to place" is that few executors are large enough: an
executor runs one task, so there is no fragmentation inside it to measure.  (4) The class of executor is the
smallest that fits.
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
    StageRule,
    check_alpha,
)
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class Graphene(ListScheduler):
    TUNE: ClassVar = {
        "alpha": ALPHA_GRID,
        "long_threshold": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1),
        "fit_threshold": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    }

    @dataclass(frozen=True)
    class Params:
        alpha: float = field(default=-0.5, metadata={"help": "share in proportion to total work ** alpha"})
        long_threshold: float = field(
            default=0.8, metadata={"help": "long: mean duration at least this part of the job's longest"}
        )
        fit_threshold: float = field(
            default=0.3,
            metadata={"help": "hard to place: at most this part of the executors is large enough"},
        )

        def __post_init__(self) -> None:
            check_alpha(self.alpha)
            if not self.long_threshold > 0.0:
                raise ValueError(f"long_threshold is {self.long_threshold}; expected above 0 (above 1: no stage)")
            if not 0.0 <= self.fit_threshold <= 1.0:
                raise ValueError(f"fit_threshold is {self.fit_threshold}; expected 0 (no stage) to 1 (all)")

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(
            ListRule(
                order=OrderRule(
                    Order.ARRIVAL,
                    StageRule.TROUBLESOME,
                    long_threshold=params.long_threshold,
                    fit_threshold=params.fit_threshold,
                ),
                size=SizeRule(capped=True, alpha=params.alpha, keep=Keep.BELOW_CAP, spill=True),
                reason=Reason.BELOW_WEIGHTED_SHARE,
            )
        )
