"""The curves of a run: the distribution of completion times, and the jobs in the system over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Floats
from dovetail.records.dag import DagRun

MAX_POINTS = 700  # more than the width of a chart in pixels shows nothing more


class Curve(NamedTuple):
    """A step function: y[i] holds from x[i] to x[i + 1]."""

    x: Floats
    y: Floats


def jct_distribution(run: DagRun) -> Curve:
    """Share of all jobs that completed within x seconds; it stays below 1 if some never did."""
    jct_s = np.sort(run.jobs.finish_s - run.jobs.arrival_s)
    share = np.arange(1, jct_s.size + 1) / max(1, jct_s.size)
    finished = np.isfinite(jct_s)
    jct_s, share = jct_s[finished], share[finished]
    if jct_s.size > MAX_POINTS:
        at = np.unique(np.linspace(0, jct_s.size - 1, MAX_POINTS).astype(np.int64))
        jct_s, share = jct_s[at], share[at]
    return Curve(np.concatenate(([0.0], jct_s)), np.concatenate(([0.0], share)))


def jobs_in_system(run: DagRun) -> Curve:
    """Jobs that have arrived and not yet completed."""
    finish_s = run.jobs.finish_s[np.isfinite(run.jobs.finish_s)]
    when = np.concatenate((run.jobs.arrival_s, finish_s))
    step = np.concatenate((np.ones(run.jobs.arrival_s.size), -np.ones(finish_s.size)))
    time_s, where = np.unique(when, return_inverse=True)
    count: Floats = np.cumsum(np.bincount(where, step, minlength=time_s.size).astype(np.float64))
    if time_s.size > MAX_POINTS:
        grid = np.linspace(time_s[0], time_s[-1], MAX_POINTS)
        at = np.searchsorted(time_s, grid, side="right") - 1
        return Curve(grid, count[at])
    return Curve(time_s, count)
