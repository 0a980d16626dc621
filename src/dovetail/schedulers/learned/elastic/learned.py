"""elastic/learned: `oasis-replan` at prices that a network scales, slot by slot.  Ours.

What a slot's capacity is worth depends on who may yet want it: on the work that is still to arrive before that slot, on
what is booked and on who waits.  OASiS' prices know only what is booked.  The network looks at all of it
(`features/elastic`) and multiplies the prices of each slot by a factor; everything else is `oasis-replan`'s.  It was
trained to maximise the total utility (`dovetail train elastic`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticInfo, ElasticView, Floats, Reason
from dovetail.features.elastic import SlotFeatures
from dovetail.schedulers.learned import checkpoint_files
from dovetail.schedulers.learned.elastic.checkpoint import load_checkpoint
from dovetail.schedulers.learned.elastic.network import PriceNetwork
from dovetail.schedulers.optimise.elastic.market import ERROR_HELP
from dovetail.schedulers.optimise.elastic.oasis_replan import OasisReplan, OasisReplanParams

BUNDLED = Path(__file__).parent / "checkpoints"


def find_checkpoint(name: str) -> Path:
    """A bundled checkpoint by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


@dataclass(frozen=True)
class LearnedParams:
    checkpoint: str = field(default="contended", metadata={"help": "name of a bundled network, or a path"})
    error: float = field(default=1.0, metadata=ERROR_HELP)


class Learned(OasisReplan):
    """The network takes the place of the fixed profile of prices over time."""

    Params = LearnedParams  # type: ignore[assignment]
    TUNE = {}  # noqa: RUF012 - it is trained, not tuned

    def __init__(self, params: LearnedParams = LearnedParams(), *, network: PriceNetwork | None = None) -> None:
        super().__init__(OasisReplanParams(error=params.error))
        self.checkpoint = params.checkpoint
        self._network = load_checkpoint(find_checkpoint(params.checkpoint)).network if network is None else network

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._features = SlotFeatures(info)

    def profile(self, view: ElasticView) -> Floats:
        factor: Floats = super().profile(view) * self._network.scale(self._features.of(view))
        return factor

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return [
            decision._replace(reason=Reason.LEARNED_PRICE) if decision.reason == Reason.POSITIVE_PAYOFF else decision
            for decision in super().decide(view)
        ]
