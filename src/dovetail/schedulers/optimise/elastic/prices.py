"""Marginal prices of resources, which grow exponentially with what is taken (Bao et al., INFOCOM 2018).

    p_h^r(t) = L (U^r / L) ^ (g_h^r(t) / c_h^r)        g: what is taken of capacity c

Where U and L come from: `market`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.core.elastic import Floats

TINY = 1e-12  # a price that is nothing, of which logarithms can be taken


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and highest prices of one role's resources."""

    low: float
    high: Floats  # (R,)

    def prices(self, free: Floats, capacity: Floats) -> Floats:
        """Prices where so much is free.  free: (..., H, R), capacity: (H, R)."""
        has = capacity > 0
        taken = 1.0 - np.divide(free, capacity, out=np.ones_like(free), where=has)
        values: Floats = self.low * np.exp(self.log_range * taken)
        return values * has

    @cached_property
    def log_range(self) -> Floats:
        """(R,) ln(U / L)."""
        return np.log(self.high / self.low)

    @property
    def alpha(self) -> float:
        """max(1, ln(U / L)): half of the competitive ratio."""
        return max(1.0, float(self.log_range.max()))
