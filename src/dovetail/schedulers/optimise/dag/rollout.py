"""dag/rollout: one-step look-ahead.  Try a few decisions in a copy of the world, take the one that ends best.

At each decision the base heuristic (`dag/fair-spill`) proposes one, and some others are put beside it: for
the job the executors are at and for the jobs with the least work left, its foremost stages, each with all
executors on offer, half of them, or one.  Every candidate is completed by the base heuristic itself inside a
copy of the world's public state (`DagInfo.look_ahead`: mean durations, no coming arrivals), and the candidate
with the fewest job-seconds still to be spent wins.  This is the rollout algorithm of Bertsekas, Tsitsiklis
and Wu (1997): with a true model it is never worse than its base.  Here the model is an estimate, so another
decision than the base's is taken only if it saves `margin_s`: how wrong the model is about one decision does
not depend on how many jobs are waiting, so the margin is absolute.

The budget is bounded: at most 1 + `max_candidates` runs per decision, none when there is no choice.

With executors of several classes it follows its base: a view does not say which class works where, and a copy of
the world that has to guess it leads astray (measured: 5 to 19 % worse than the base).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, LookAhead
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.dag.fair_spill import FairSpill
from dovetail.schedulers.optimise.dag.weigh import AheadParams, CandidateParams, best_of


class Rollout:
    ALL_UP_TO_JOBS: ClassVar = 20  # it is slow: comparisons of `all` schedulers leave it out beyond
    ALIKE_ONLY: ClassVar = "follows its base, dag/fair-spill"  # what it does where executors differ

    @dataclass(frozen=True)
    class Params(AheadParams, CandidateParams):
        base: FairSpill.Params = field(default_factory=FairSpill.Params)

        def __post_init__(self) -> None:
            CandidateParams.__post_init__(self)
            AheadParams.__post_init__(self)

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._base = FairSpill(params.base)
        self._look_ahead: LookAhead | None = None

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        if info.look_ahead is None:
            raise DovetailError(
                "dag/rollout needs a world that can look ahead, and this one cannot; run it in the simulator"
            )
        self._look_ahead = info.look_ahead
        self._several_classes = len(info.classes) > 1
        self._base.reset(info, rng)
        self._base_kernel = self._base.kernel()

    def kernel(self) -> DagKernel | None:
        return None

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        assert self._look_ahead is not None, "reset comes first"
        proposed = self._base.decide(view)
        if not proposed or self._several_classes:
            return proposed
        candidates = [proposed[0], *self.params.beside(view, proposed[0])]
        if len(candidates) == 1:
            return proposed
        costs = self._look_ahead.costs(view, candidates, self._base_kernel, self.params.horizon_s)
        return (best_of(candidates, costs, self.params.margin_s),)
