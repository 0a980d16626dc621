"""The network that scales prices: two layers, the same for every slot.

exp(w2 . tanh(W1 x + b1) + b2) multiplies the price of a slot with features x, within bounds.  With w2 and b2 zero it
is 1 everywhere: an untrained network changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import Floats
from dovetail.features.elastic import COLUMNS

MOST = 4.0  # the logarithm of a factor is within +- this


class PriceNetwork(NamedTuple):
    w1: Floats  # (F, H)
    b1: Floats  # (H,)
    w2: Floats  # (H,)
    b2: Floats  # (1,)

    @property
    def hidden(self) -> int:
        return len(self.b1)

    def scale(self, features: Floats) -> Floats:
        """(S,) factor for each row of features (S, F)."""
        hidden = np.tanh(features @ self.w1 + self.b1)
        factor: Floats = np.exp(MOST * np.tanh((hidden @ self.w2 + self.b2) / MOST))
        return factor

    def vector(self) -> Floats:
        """All parameters in a row."""
        return np.concatenate([part.ravel() for part in self])

    @classmethod
    def of_vector(cls, vector: Floats, hidden: int) -> PriceNetwork:
        sizes = {name: int(np.prod(shape)) for name, shape in shapes(hidden).items()}
        parts = np.split(vector, np.cumsum(list(sizes.values()))[:-1])
        return cls(*(part.reshape(shape) for part, shape in zip(parts, shapes(hidden).values(), strict=True)))

    @classmethod
    def fresh(cls, hidden: int, rng: np.random.Generator) -> PriceNetwork:
        """Prices as they are; the first layer is drawn so that the second has something to weigh."""
        w1 = rng.normal(size=(len(COLUMNS), hidden)) / np.sqrt(len(COLUMNS))
        return cls(w1, rng.normal(size=hidden) * 0.1, np.zeros(hidden), np.zeros(1))


def shapes(hidden: int) -> dict[str, tuple[int, ...]]:
    """Of the parameters, by name."""
    return {"w1": (len(COLUMNS), hidden), "b1": (hidden,), "w2": (hidden,), "b2": (1,)}
