"""Upper confidence bounds: take the arm whose reward may be the highest.

    UCB1         mean + c sqrt(2 ln t / n)                                  (Auer, Cesa-Bianchi and Fischer 2002)
    discounted   the same with n, t and means that forget by a factor gamma (Garivier and Moulines 2011)
    sliding      the same over the last `window` rewards                    (same)

c = 1 is the published UCB1, for rewards that fill 0 to 1.  Those of one class of work differ by a tenth or two, and
runs are hundreds of windows long, so the default is smaller.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import ClassVar

import numpy as np

from dovetail.adaptation.learners import Belief
from dovetail.core.dag import Floats


def _check(explore: float) -> None:
    if not explore >= 0.0:
        raise ValueError(f"explore is {explore}; expected a factor of 0 or more")


class Ucb1:
    contextual: ClassVar[bool] = False

    @dataclass(frozen=True)
    class Params:
        explore: float = field(default=0.05, metadata={"help": "factor of the confidence width; 1 as published"})

        def __post_init__(self) -> None:
            _check(self.explore)

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._explore, self._gamma = params.explore, 1.0

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        self._pulls = [0.0] * arms
        self._total = [0.0] * arms

    def select(self, context: Floats) -> int:
        beliefs = self.beliefs(context)
        return max(range(len(beliefs)), key=lambda arm: (beliefs[arm].mean + beliefs[arm].width, -arm))

    def update(self, arm: int, reward: float, context: Floats) -> None:
        self._pulls[arm] += 1.0
        self._total[arm] += reward

    def beliefs(self, context: Floats) -> list[Belief]:
        among = log(max(sum(self._pulls), 1.0))
        return [
            Belief(total / n, self._explore * sqrt(2.0 * among / n), n) if n > 0.0 else Belief(0.5, inf, 0.0)
            for total, n in zip(self._total, self._pulls, strict=True)
        ]


class DiscountedUcb(Ucb1):
    @dataclass(frozen=True)
    class Params:
        explore: float = field(default=0.05, metadata={"help": "factor of the confidence width; 1 as published"})
        gamma: float = field(default=0.98, metadata={"help": "what an observation counts one window later"})

        def __post_init__(self) -> None:
            _check(self.explore)
            if not 0.0 < self.gamma < 1.0:
                raise ValueError(f"gamma is {self.gamma}; expected a factor above 0 and below 1")

    def __init__(self, params: Params = Params()) -> None:
        self._explore, self._gamma = params.explore, params.gamma

    def update(self, arm: int, reward: float, context: Floats) -> None:
        self._pulls = [n * self._gamma for n in self._pulls]
        self._total = [total * self._gamma for total in self._total]
        super().update(arm, reward, context)


class SlidingUcb(Ucb1):
    @dataclass(frozen=True)
    class Params:
        explore: float = field(default=0.05, metadata={"help": "factor of the confidence width; 1 as published"})
        # A class of work sees some 45 rewards in a run of 250 windows and three classes: more would be all of them.
        window: int = field(default=30, metadata={"help": "rewards that are remembered"})

        def __post_init__(self) -> None:
            _check(self.explore)
            if self.window < 1:
                raise ValueError(f"window is {self.window}; expected 1 or more")

    def __init__(self, params: Params = Params()) -> None:
        self._explore, self._window = params.explore, params.window

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        super().reset(arms, rng)
        self._last: deque[tuple[int, float]] = deque()

    def update(self, arm: int, reward: float, context: Floats) -> None:
        super().update(arm, reward, context)
        self._last.append((arm, reward))
        if len(self._last) > self._window:
            old, forgotten = self._last.popleft()
            self._pulls[old] -= 1.0
            self._total[old] -= forgotten
