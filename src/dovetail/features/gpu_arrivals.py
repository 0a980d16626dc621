"""The jobs that came last, compiled: how much of a cluster those ask for that are much shorter than a given one.

A view shows who waits and who runs, not who keeps coming.  Where nobody can be stopped, that is what room has to be
left for: a long job takes it from all the short ones after it, if there are any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats, GpuView
from dovetail.features.gpu_measure import OPTIONS

REMEMBERED = 128
MUCH = 2.0  # times as long: who is as much shorter counts by half
MOST_ASKED = 2.0  # clusters


class Arrivals(NamedTuple):
    """A ring of the jobs that came last, in order of their arrival."""

    last: Floats  # (3,) when the last one came, which it was, and how many came so far
    arrival_s: Floats  # (N,)
    left_s: Floats  # (N,) as was expected when it came
    gpus: Floats  # (N,) of all its workers

    @classmethod
    def empty(cls) -> Arrivals:
        ring = np.zeros((3, REMEMBERED))
        return cls(np.array([-np.inf, -1.0, 0.0]), *ring)


@njit(**OPTIONS)
def notice(arrivals, view: GpuView):
    """Remember those of a view that were not there before.  One that was stopped and waits again is not new."""
    last = arrivals.last
    for j in range(view.job_id.shape[0]):
        came_s, number = view.job_arrival_s[j], float(view.job_id[j])
        if came_s < last[0] or (came_s == last[0] and number <= last[1]):
            continue
        place = int(last[2]) % arrivals.left_s.shape[0]
        arrivals.arrival_s[place], arrivals.left_s[place] = came_s, view.job_left_s[j]
        arrivals.gpus[place] = view.job_workers[j] * view.job_gpus[j]
        last[0], last[1], last[2] = came_s, number, last[2] + 1.0


@njit(**OPTIONS)
def asked_by_shorter(arrivals, time_s, left_s, total_gpus):
    """Share of a cluster that jobs much shorter than one of `left_s` ask for on average, if they come as before.

    Those remembered came since the oldest of them did; a job's length longer, so that the first ones do not count as a
    flood.
    """
    size = arrivals.left_s.shape[0]
    count = min(int(arrivals.last[2]), size)
    if count == 0:
        return 0.0
    oldest = int(arrivals.last[2]) % size if arrivals.last[2] > size else 0
    asked, length = 0.0, 0.0
    for i in range(count):
        longer = MUCH * arrivals.left_s[i] / max(left_s, 1e-9)
        asked += arrivals.gpus[i] * arrivals.left_s[i] / (1.0 + longer * longer)
        length += arrivals.left_s[i]
    since_s = time_s - arrivals.arrival_s[oldest] + length / count
    return min(asked / max(since_s * total_gpus, 1e-9), MOST_ASKED)
