"""Thompson sampling with normal beliefs: draw a value for each arm from what is believed, take the highest.

Rewards of an arm are taken to be normal around its worth with spread `noise`.  Before an arm was tried, its worth is
taken to be normal with spread `prior` around a little more than the best that is known, so that everything is tried
soon.  After n rewards the belief is normal with precision 1/prior^2 + n/noise^2, its mean drawn to the middle of the
scale by the first term (Russo et al., A Tutorial on Thompson Sampling, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np

from dovetail.adaptation.learners import Belief
from dovetail.core.dag import Floats

_MIDDLE = 0.5
_HOPE = 0.05  # how much better than the best known an arm may be that was never tried


class Thompson:
    contextual: ClassVar[bool] = False

    @dataclass(frozen=True)
    class Params:
        noise: float = field(default=0.05, metadata={"help": "spread of one reward around an arm's worth"})
        prior: float = field(default=0.12, metadata={"help": "spread of the arms' worths before anything is seen"})

        def __post_init__(self) -> None:
            if not (self.noise > 0.0 and self.prior > 0.0):
                raise ValueError("expected noise and prior above 0")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._pulls = [0] * arms
        self._total = [0.0] * arms

    def select(self, context: Floats) -> int:
        beliefs = self.beliefs(context)
        drawn = [self._rng.normal(belief.mean, belief.width) for belief in beliefs]
        return int(np.argmax(drawn))

    def update(self, arm: int, reward: float, context: Floats) -> None:
        self._pulls[arm] += 1
        self._total[arm] += reward

    def beliefs(self, context: Floats) -> list[Belief]:
        known, seen = self.params.prior**-2, self.params.noise**-2
        means = [
            (known * _MIDDLE + seen * total) / (known + seen * n)
            for total, n in zip(self._total, self._pulls, strict=True)
        ]
        unseen = _HOPE + max((mean for mean, n in zip(means, self._pulls, strict=True) if n), default=_MIDDLE)
        return [
            Belief(mean if n else unseen, 1.0 / sqrt(known + seen * n), float(n))
            for mean, n in zip(means, self._pulls, strict=True)
        ]
