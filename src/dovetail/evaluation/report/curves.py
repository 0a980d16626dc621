"""Curves of runs: how values are distributed, and what goes on over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Floats

MAX_POINTS = 700  # more than the width of a chart in pixels shows nothing more


class Curve(NamedTuple):
    """A step function: y[i] holds from x[i] to x[i + 1]."""

    x: Floats
    y: Floats


def distribution(completion_s: Floats) -> Curve:
    """Share of all jobs that completed within x seconds; it stays below 1 if some never did (inf)."""
    jct_s = np.sort(completion_s)
    share = np.arange(1, jct_s.size + 1) / max(1, jct_s.size)
    finished = np.isfinite(jct_s)
    jct_s, share = jct_s[finished], share[finished]
    if jct_s.size > MAX_POINTS:
        at = np.unique(np.linspace(0, jct_s.size - 1, MAX_POINTS).astype(np.int64))
        jct_s, share = jct_s[at], share[at]
    return Curve(np.concatenate(([0.0], jct_s)), np.concatenate(([0.0], share)))


def in_system(arrival_s: Floats, finish_s: Floats) -> Curve:
    """Jobs that have arrived and not yet completed; inf = never."""
    finish_s = finish_s[np.isfinite(finish_s)]
    when = np.concatenate((arrival_s, finish_s))
    return running_sum(when, np.concatenate((np.ones(arrival_s.size), -np.ones(finish_s.size))))


def running_sum(when: Floats, step: Floats) -> Curve:
    """The sum of the steps that were taken until x."""
    time_s, where = np.unique(when, return_inverse=True)
    total: Floats = np.cumsum(np.bincount(where, step, minlength=time_s.size).astype(np.float64))
    return thinned(Curve(time_s, total))


def thinned(curve: Curve) -> Curve:
    """The curve at no more points than a chart can show."""
    if curve.x.size <= MAX_POINTS:
        return curve
    grid = np.linspace(curve.x[0], curve.x[-1], MAX_POINTS)
    return Curve(grid, curve.y[np.searchsorted(curve.x, grid, side="right") - 1])
