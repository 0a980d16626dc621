"""EXP3 (Auer et al. 2002): exponential weights, which assume nothing of where rewards come from.

p_k = (1 - gamma) w_k / sum w + gamma / K; the arm taken gets w_k *= exp(gamma x_k / K) with x_k = reward / p_k.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from dovetail.adaptation.learners import Belief
from dovetail.core.dag import Floats


class Exp3:
    contextual: ClassVar[bool] = False

    @dataclass(frozen=True)
    class Params:
        gamma: float = field(default=0.2, metadata={"help": "share of choices made at random, and rate of learning"})

        def __post_init__(self) -> None:
            if not 0.0 < self.gamma <= 1.0:
                raise ValueError(f"gamma is {self.gamma}; expected a share above 0, 1 at most")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._log_weight = np.zeros(arms)  # logarithms, for weights grow without bound
        self._pulls = [0] * arms
        self._total = [0.0] * arms

    def probabilities(self) -> Floats:
        gamma = self.params.gamma
        weight = np.exp(self._log_weight - self._log_weight.max())
        chance: Floats = (1.0 - gamma) * weight / weight.sum() + gamma / weight.size
        return chance

    def select(self, context: Floats) -> int:
        return int(np.searchsorted(np.cumsum(self.probabilities())[:-1], self._rng.random(), side="right"))

    def update(self, arm: int, reward: float, context: Floats) -> None:
        chance = self.probabilities()[arm]
        self._log_weight[arm] += self.params.gamma * reward / (chance * self._log_weight.size)
        self._pulls[arm] += 1
        self._total[arm] += reward

    def beliefs(self, context: Floats) -> list[Belief]:
        """Plain means: the weights say how often an arm is taken, not what it is worth."""
        return [
            Belief(total / n, 0.5 / sqrt(n), float(n)) if n else Belief(0.5, inf, 0.0)
            for total, n in zip(self._total, self._pulls, strict=True)
        ]
