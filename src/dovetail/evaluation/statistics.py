"""Means with intervals, and paired differences.

Every scheduler meets the same job sequences, so differences are taken sequence by sequence before they are
averaged.  Intervals are percentile bootstraps (Efron 1979); the resamples come from a fixed seed, so the same
numbers always get the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dovetail.core.dag import Floats
from dovetail.core.seeds import SeedTree

RESAMPLES = 10_000
LEVEL = 0.95
_AT_ONCE = 4_000_000  # drawn positions held in memory at a time


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the interval around it; the bounds are nan where one value alone allows none."""

    mean: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def as_json(self) -> dict[str, object]:
        """`{"mean": .., "ci95": [.., ..]}`, with null for a bound that is not known."""
        bounds = [bound if math.isfinite(bound) else None for bound in (self.low, self.high)]
        return {"mean": self.mean if math.isfinite(self.mean) else None, "ci95": bounds}


def bootstrap_mean(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Interval:
    """Mean of independent values (one per job sequence) with its interval."""
    sample = _column(values)
    return _interval(float(sample.mean()), sample[:, None], lambda means: means[:, 0], seed, resamples, level)


def paired_difference(
    ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """Mean of ours - theirs, value by value; below 0 is better for us where less is better."""
    a, b = _pair(ours, theirs)
    return bootstrap_mean(a - b, seed=seed, resamples=resamples, level=level)


def paired_difference_pct(
    ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """How much our mean is above theirs, in percent of theirs; pairs are resampled together."""
    a, b = _pair(ours, theirs)

    def percent(means: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = 100.0 * (means[:, 0] / means[:, 1] - 1.0)
        return ratio

    both = np.column_stack((a, b))
    mean = float(percent(both.mean(axis=0, keepdims=True))[0])
    return _interval(mean, both, percent, seed, resamples, level)


def mean_difference_pct(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Mean over settings of how much our mean is above theirs in percent, each setting counting alike.

    Every setting has a pair of columns, ours and theirs, by job sequence.  Sequences of the same number are resampled
    together: they may have been drawn from the same numbers, and are not taken for independent.
    """
    columns = [column for ours, theirs in pairs for column in _pair(ours, theirs)]
    if not columns or len({column.size for column in columns}) > 1:
        raise ValueError(f"columns of {[column.size for column in columns]} values; expected as many in every setting")

    def percent(means: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = 100.0 * (means[:, 0::2] / means[:, 1::2] - 1.0).mean(axis=1)
        return ratio

    every = np.column_stack(columns)
    mean = float(percent(every.mean(axis=0, keepdims=True))[0])
    return _interval(mean, every, percent, seed, resamples, level)


def crossed_mean(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Interval:
    """Mean of what several networks (rows) came to on the same sequences (columns); see `crossed_difference`."""
    sample = _grid(values)
    return crossed_difference(sample, np.zeros((1, sample.shape[1])), seed=seed, resamples=resamples, level=level)


def crossed_difference(
    ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """Mean of ours - theirs where both were made by chance, too: a row for each training seed, a column a sequence.

    Rows of either are drawn anew, each for itself, and columns of both together (Owen 2007: a pigeonhole bootstrap), so
    the interval is about networks trained again and other sequences, not about these.  One row, as of a rule, is as it
    is.  With few rows or columns it is too narrow rather than too wide.
    """
    a, b = _grid(ours), _grid(theirs)
    n = a.shape[1]
    if b.shape[1] != n:
        raise ValueError(f"{n} sequences against {b.shape[1]}; pairs need as many of each")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}; expected a share between 0 and 1")
    mean = float(a.mean() - b.mean())
    if max(n, len(a), len(b)) < 2:
        return Interval(mean, math.nan, math.nan)
    rng = SeedTree(seed).child("bootstrap").generator()

    def drawn(count: int) -> Floats:
        """(r, count) how often each is there, of 1 in all."""
        found: Floats = rng.multinomial(count, np.full(count, 1.0 / count), size=resamples) / count
        return found

    apart = drawn(len(a)) @ a - drawn(len(b)) @ b
    tail = 100.0 * (1.0 - level) / 2.0
    low, high = np.percentile((apart * drawn(n)).sum(axis=1), (tail, 100.0 - tail))
    return Interval(mean, float(low), float(high))


def _grid(values: ArrayLike) -> Floats:
    """Rows of numbers; a single row may come as it is."""
    sample = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if sample.ndim != 2 or sample.size == 0:
        raise ValueError(f"values of shape {sample.shape}; expected a row for each network, a column for each sequence")
    return sample


def _interval(
    mean: float,
    columns: Floats,  # (n, k)
    statistic: Callable[[Floats], Floats],  # (r, k) means of resamples -> (r,)
    seed: int,
    resamples: int,
    level: float,
) -> Interval:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}; expected a share between 0 and 1")
    n = columns.shape[0]
    if n < 2:
        return Interval(mean, math.nan, math.nan)
    rng = SeedTree(seed).child("bootstrap").generator()
    size = max(1, _AT_ONCE // n)
    drawn = []
    for start in range(0, resamples, size):
        positions = rng.integers(n, size=(min(size, resamples - start), n))
        drawn.append(np.stack([column[positions].mean(axis=1) for column in columns.T], axis=1))
    tail = 100.0 * (1.0 - level) / 2.0
    low, high = np.percentile(statistic(np.concatenate(drawn)), (tail, 100.0 - tail))
    return Interval(mean, float(low), float(high))


def _column(values: ArrayLike) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0:
        raise ValueError(f"values of shape {sample.shape}; expected at least one number in a row")
    return sample


def _pair(ours: ArrayLike, theirs: ArrayLike) -> tuple[Floats, Floats]:
    a, b = _column(ours), _column(theirs)
    if a.size != b.size:
        raise ValueError(f"{a.size} values against {b.size}; pairs need as many of each")
    return a, b
