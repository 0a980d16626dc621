"""What a cost is worth: 0.5 for the first window of its kind, 0.25 more for each halving, between 0 and 1.

Windows that were crowded are judged otherwise than the rest (`perception`), so there are two kinds for every class of
work, and two scales.  The first window of a kind is worth what its composition is believed to be worth by then, so that
rewards on both scales mean the same.
"""

from __future__ import annotations

from math import log2, nan

Kind = tuple[int, bool]
"""Class of work, and whether the window was crowded."""
FIRST = 0.5


class Rewards:
    def __init__(self) -> None:
        self.unit_cost: dict[Kind, float] = {}  # what a reward of `FIRST` stands for

    def of(self, kind: Kind, cost: float, believed: float) -> float:
        """`believed`: the worth of the composition before this window."""
        unit = self.unit_cost.setdefault(kind, cost / _factor(believed))
        return min(1.0, max(0.0, FIRST - 0.25 * log2(cost / unit)))

    def cost(self, kind: Kind, reward: float) -> float:
        """What a window of this kind is expected to cost; nan while there was none."""
        return self.unit_cost.get(kind, nan) * _factor(reward)


def _factor(reward: float) -> float:
    factor: float = 2.0 ** (4.0 * (FIRST - reward))
    return factor
