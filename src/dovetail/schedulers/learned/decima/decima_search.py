"""dag/decima-search: the network proposes, the simulator weighs.

At each decision the network's likeliest choice and some drawn from its probabilities are completed in copies of the
world's public state (`DagInfo.look_ahead`: mean durations, no coming arrivals), and another than the likeliest is
taken only if it saves `margin_s`.  The copies are completed by a fast heuristic, or by the network itself, which
takes fifteen to twenty times as long.  The budget is bounded: at most `tries` copies a decision, none when all draws
agree.

With executors of several classes it follows the network: see `dag/rollout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagView, LookAhead
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.dag.hesrpt import HeSrpt
from dovetail.schedulers.learned.decima.scheduler import Decima
from dovetail.schedulers.optimise.dag.weigh import AheadParams, best_of


class DecimaSearch:
    ALL_UP_TO_JOBS: ClassVar = 0  # slow, and beside `dag/decima`: only when asked for

    @dataclass(frozen=True)
    class Params(AheadParams):
        checkpoint: str = field(default="batch", metadata={"help": "name of a bundled network, or a path"})
        tries: int = field(default=6, metadata={"help": "decisions tried at most"})
        own: bool = field(default=False, metadata={"help": "the network completes the copies, not dag/hesrpt"})
        base: HeSrpt.Params = field(default_factory=HeSrpt.Params)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.tries < 2:
                raise ValueError(f"tries is {self.tries}; expected at least 2")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._policy = Decima(Decima.Params(params.checkpoint))
        self._base = self._policy if params.own else HeSrpt(params.base)
        self._look_ahead: LookAhead | None = None

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        if info.look_ahead is None:
            raise DovetailError(
                "dag/decima-search needs a world that can look ahead, and this one cannot; run it in the simulator"
            )
        self._look_ahead = info.look_ahead
        self._several_classes = len(info.classes) > 1
        self._rng = rng
        self._policy.reset(info, rng)
        self._base.reset(info, rng)
        self._base_kernel = self._base.kernel()
        if self._base_kernel is None:
            raise DovetailError(f"dag/decima-search: the network {self.params.checkpoint} cannot complete copies")

    def kernel(self) -> None:
        return None

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        assert self._look_ahead is not None and self._base_kernel is not None, "reset comes first"
        if self._several_classes:
            return self._policy.decide(view)
        candidates = self._policy.draw(view, self._rng.random((self.params.tries - 1, 3)))
        if len(candidates) < 2:
            return candidates
        costs = self._look_ahead.costs(view, candidates, self._base_kernel, self.params.horizon_s)
        return (best_of(candidates, costs, self.params.margin_s),)
