"""Makes measured durations fewer, so that a catalogue stays small: fewer executor counts, fewer samples of each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.core.dag import Floats

FEW_LEVELS = 8
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80)


def round_levels(counts: Iterable[int]) -> dict[int, int]:
    """Executor counts -> the levels they are stored at: themselves if they are few, else the nearest round number.

    Nearest by ratio: 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, ...
    """
    different = sorted(set(counts))
    if len(different) <= FEW_LEVELS:
        return {count: count for count in different}
    grid = np.array(sorted({step * 10**power for power in range(7) for step in _STEPS}), dtype=np.float64)
    return {count: int(grid[np.abs(np.log(grid / count)).argmin()]) for count in different}


def thin(seconds: Floats, most: int | None) -> Floats:
    """At most so many samples that stand for all: means of equal parts of the sorted ones.

    So the mean stays what it was, but for parts that differ by one sample, and the shape nearly so; extremes
    come closer.
    """
    if most is None or seconds.size <= most:
        return seconds
    return np.array([part.mean() for part in np.array_split(np.sort(seconds), most)])
