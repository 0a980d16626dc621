"""A linear contextual bandit: rewards are linear in the features of the work, with Thompson sampling over the weights.

For each arm Bayesian linear regression with a normal prior (Agrawal and Goyal 2013): precision A = I/prior^2 +
sum x x'/noise^2, mean A^-1 sum x r/noise^2.  Features come with a constant, so an arm has a worth of its own too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np

from dovetail.adaptation.learners import Belief
from dovetail.core.dag import Floats

_MIDDLE = 0.5


class LinearThompson:
    contextual: ClassVar[bool] = True

    @dataclass(frozen=True)
    class Params:
        noise: float = field(default=0.08, metadata={"help": "spread of one reward around what the features predict"})
        prior: float = field(default=0.12, metadata={"help": "spread of the weights before anything is seen"})

        def __post_init__(self) -> None:
            if not (self.noise > 0.0 and self.prior > 0.0):
                raise ValueError("expected noise and prior above 0")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._arms = arms
        self._precision: list[Floats] = []  # made when the number of features is known
        self._seen: list[Floats] = []
        self._pulls = [0] * arms

    def _start(self, context: Floats) -> None:
        if not self._precision:
            self._precision = [np.eye(context.size) / self.params.prior**2 for _ in range(self._arms)]
            self._seen = [np.zeros(context.size) for _ in range(self._arms)]

    def select(self, context: Floats) -> int:
        beliefs = self.beliefs(context)
        drawn = [self._rng.normal(belief.mean, belief.width) for belief in beliefs]
        return int(np.argmax(drawn))

    def update(self, arm: int, reward: float, context: Floats) -> None:
        self._start(context)
        self._precision[arm] = self._precision[arm] + np.outer(context, context) / self.params.noise**2
        self._seen[arm] = self._seen[arm] + context * (reward - _MIDDLE) / self.params.noise**2
        self._pulls[arm] += 1

    def beliefs(self, context: Floats) -> list[Belief]:
        self._start(context)
        found = []
        for precision, seen, pulls in zip(self._precision, self._seen, self._pulls, strict=True):
            solved = np.linalg.solve(precision, np.column_stack((seen, context)))
            found.append(Belief(_MIDDLE + float(context @ solved[:, 0]), sqrt(float(context @ solved[:, 1])), pulls))
        return found
