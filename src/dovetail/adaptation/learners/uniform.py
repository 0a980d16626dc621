"""Any arm with equal chance: what a learner must beat."""

from __future__ import annotations

from math import inf, sqrt
from typing import ClassVar

import numpy as np

from dovetail.adaptation.learners import Belief
from dovetail.core.dag import Floats


class Uniform:
    contextual: ClassVar[bool] = False

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._pulls = [0] * arms
        self._total = [0.0] * arms

    def select(self, context: Floats) -> int:
        return int(self._rng.integers(len(self._pulls)))

    def update(self, arm: int, reward: float, context: Floats) -> None:
        self._pulls[arm] += 1
        self._total[arm] += reward

    def beliefs(self, context: Floats) -> list[Belief]:
        return [
            Belief(total / n, 0.5 / sqrt(n), float(n)) if n else Belief(0.5, inf, 0.0)
            for total, n in zip(self._total, self._pulls, strict=True)
        ]
