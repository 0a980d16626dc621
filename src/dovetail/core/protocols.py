"""The contracts that every family shares: a scheduler decides, a world carries out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

InfoIn = TypeVar("InfoIn", contravariant=True)
ViewIn = TypeVar("ViewIn", contravariant=True)
ViewOut = TypeVar("ViewOut", covariant=True)
DecisionIn = TypeVar("DecisionIn", contravariant=True)
DecisionOut = TypeVar("DecisionOut", covariant=True)


class Scheduler(Protocol[InfoIn, ViewIn, DecisionOut]):
    """A pure decider: no clock, no I/O, no global random state, no reference to a world."""

    def reset(self, info: InfoIn, rng: np.random.Generator) -> None:
        """Forget everything and get ready for a new run; `rng` is the scheduler's only source of chance."""
        ...

    def decide(self, view: ViewIn) -> Sequence[DecisionOut]:
        """Answer one view.  Decisions are carried out in order; none at all leaves what is on offer idle.

        If something is still on offer after they have been carried out, the world asks again with a new view.
        """
        ...


class World(Protocol[ViewOut, DecisionIn]):
    """Something with a clock in which decisions have consequences: the simulator, or a live engine."""

    def advance(self) -> ViewOut | None:
        """Run to the next moment that needs a decision; None when all work is done."""
        ...

    def apply(self, decisions: Sequence[DecisionIn]) -> None:
        """Carry out decisions on the last view, in order.

        `InvalidDecision` if one of them cannot be: then none has been, and `advance` gives the same view again.
        """
        ...
