"""dag/oracle-search: what knowing the future would be worth.  Not a scheduler anyone could run.

As `dag/rollout`, but the copies of the world are true ones: the durations that the tasks will have and the jobs that
will arrive are known.  It takes the best of a few decisions, each completed by `dag/hesrpt`, so it is a bound on
nothing; but what it gains over its base shows how much there is to gain by better single decisions, and no policy
that cannot see the future should be expected to do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagView, LookAhead
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.dag.hesrpt import HeSrpt
from dovetail.schedulers.optimise.dag.weigh import CandidateParams, best_of


class OracleSearch:
    ALL_UP_TO_JOBS: ClassVar = 20
    CLAIRVOYANT: ClassVar = True  # the world it is run in hands it `DagInfo.oracle`

    @dataclass(frozen=True)
    class Params(CandidateParams):
        max_candidates: int = field(default=8, metadata={"help": "decisions tried besides the base's"})
        jobs: int = field(default=6, metadata={"help": "jobs with the least work left to take them from"})
        base: HeSrpt.Params = field(default_factory=HeSrpt.Params)

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._base = HeSrpt(params.base)
        self._oracle: LookAhead | None = None

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        if info.oracle is None:
            raise DovetailError("dag/oracle-search needs a world that tells the future; run it in the simulator")
        self._oracle = info.oracle
        self._base.reset(info, rng)
        self._base_kernel = self._base.kernel()

    def kernel(self) -> None:
        return None

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        assert self._oracle is not None, "reset comes first"
        proposed = self._base.decide(view)
        if not proposed:
            return proposed
        candidates = [proposed[0], *self.params.beside(view, proposed[0])]
        if len(candidates) == 1:
            return proposed
        return (best_of(candidates, self._oracle.costs(view, candidates, self._base_kernel)),)
