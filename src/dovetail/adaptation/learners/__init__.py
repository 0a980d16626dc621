"""Learners: which arm next, from rewards between 0 and 1.  One line each, as for schedulers and parts.

A learner is made for a number of arms and a source of chance.  `contextual` ones are told what the work looks like and
serve all kinds of work; of the others, `dag/adaptive` keeps one for each class of work.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.registry import Registry

LEARNERS = Registry("learner", entry_point_group="dovetail.learners")


class Belief(NamedTuple):
    """What an arm is believed to be worth."""

    mean: float  # of the reward
    width: float  # how far it may be off: inf for an arm that was never tried
    pulls: float  # observations behind it; discounted ones count less than 1


class Learner(Protocol):
    contextual: ClassVar[bool]

    def reset(self, arms: int, rng: np.random.Generator) -> None: ...

    def select(self, context: Floats) -> int: ...

    def update(self, arm: int, reward: float, context: Floats) -> None: ...

    def beliefs(self, context: Floats) -> list[Belief]: ...


def best_arm(beliefs: list[Belief]) -> int:
    """The arm believed best of those tried; the first if none was."""
    return max(range(len(beliefs)), key=lambda arm: (beliefs[arm].pulls > 0, beliefs[arm].mean, -arm))


def _add(name: str, target: str, summary: str) -> None:
    LEARNERS.register(f"learner/{name}", f"{__name__}.{target}", summary)


_add("ucb1", "ucb:Ucb1", "optimism in the face of uncertainty")
_add("discounted-ucb", "ucb:DiscountedUcb", "the same, forgetting gradually")
_add("sliding-ucb", "ucb:SlidingUcb", "the same, over the last so many rewards")
_add("thompson", "thompson:Thompson", "as often as it is believed to be best")
_add("exp3", "exp3:Exp3", "exponential weights, for rewards that may be anything")
_add("linear", "linear:LinearThompson", "a linear model of what the work looks like, for each arm")
_add("random", "uniform:Uniform", "any arm with equal chance: the floor to beat")
