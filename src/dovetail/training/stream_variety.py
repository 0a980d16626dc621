"""Rates of a sequence made into other ones, so that what was learned from a few weeks of one service serves others.

With M the mean of all rates, m that of an interval around each, and three numbers drawn for each sequence,

    rate' = level M (m / M)^day (rate / m)^minute / (mean of (rate / m)^minute)

so days are steeper or flatter, minutes rougher or smoother, and all of it is more or less.  The numbers are
exp(spread z / 2), exp(spread z / 2) and exp(spread z), z normal within two standard deviations.  Half of the sequences
stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.core.stream import Floats
from dovetail.workloads.stream import StreamWorkload

AS_IT_IS = 0.5  # share of the sequences
FURTHEST = 2.0
TINY = 1e-12


def varied(work: StreamWorkload, spread: float, interval_s: float, rng: np.random.Generator) -> StreamWorkload:
    """Each job's rates in a way of their own; a spread of 0 leaves all of them as they are."""
    if spread == 0.0 or rng.random() < AS_IT_IS:
        return work
    drawn = np.clip(rng.standard_normal((3, work.num_jobs, 1)), -FURTHEST, FURTHEST)
    level, day, minute = np.exp(spread * drawn * np.array([0.5, 0.5, 1.0])[:, None, None])
    around = smooth(work.rate, max(1, round(interval_s / work.bin_s)))
    rough = (work.rate / np.maximum(around, TINY)) ** minute
    rough /= np.maximum(rough.mean(axis=1, keepdims=True), TINY)
    mean = work.rate.mean(axis=1, keepdims=True)
    return replace(work, rate=level * mean * (around / np.maximum(mean, TINY)) ** day * rough)


def smooth(rate: Floats, bins: int) -> Floats:
    """(J, T) means over so many bins around each, fewer at the ends."""
    total = np.concatenate([np.zeros((len(rate), 1)), np.cumsum(rate, axis=1)], axis=1)
    at = np.arange(rate.shape[1])
    first, last = np.maximum(at - bins // 2, 0), np.minimum(at + (bins + 1) // 2, rate.shape[1])
    found: Floats = (total[:, last] - total[:, first]) / (last - first)
    return found
