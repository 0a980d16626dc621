"""Service time, skew and variability of each operator, from what was measured of its queue.

Where an operator has b = p * busy instances busy on average and x records at it (Little's law: latency times rate),
`docs/stream-model.md` says

    x = b + v h(s),    h(s) = r^sqrt(2 (c + 1)) / (1 - r),    r = b / c,    c = 1 / (s + (1 - s) / p)

so with every snapshot x - b is known, and s and v are what explains all of them: for each s of a grid the best v
follows in closed form from sums, and the s with the least error is taken, errors relative to 1 + x.  A weak prior
(no skew, v = 1) decides where queues have told nothing yet.  Snapshots in which the operator was held up, or its job
stood still, tell something else and are left out.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.stream import Bools, Floats, StreamInfo, StreamView

SKEWS = np.concatenate([np.arange(0.0, 0.2, 0.01), np.arange(0.2, 0.61, 0.02)])
PRIOR_VARIABILITY = 1e-5  # weight of v = 1: from one snapshot alone it is v that is found, not a skew
PRIOR_SKEW = 1e-3  # cost of a skew of 1
IMPOSSIBLE = 1e3  # for each snapshot in which more instances were busy than a skew allows
MOST_LOAD = 0.999


def instances_at_once(parallelism: Floats, skew: Floats) -> Floats:
    """c: how many of the instances can be busy at the same time."""
    found: Floats = 1.0 / (skew + (1.0 - skew) / parallelism)
    return found


def waiting(share: Floats, at_once: Floats) -> Floats:
    """h: records that wait on average where a share of the capacity is asked for, for a variability of 1."""
    found: Floats = share ** np.sqrt(2.0 * (at_once + 1.0)) / (1.0 - share)
    return found


class QueueFit:
    """Sums over all snapshots seen so far; `skew`, `variability` and `service_s` are what they say."""

    def __init__(self, info: StreamInfo) -> None:
        count = len(info.operator_name)
        self._job = info.operator_job
        self._hh = np.full((count, len(SKEWS)), PRIOR_VARIABILITY)
        self._hx = np.full((count, len(SKEWS)), PRIOR_VARIABILITY)
        self._xx = PRIOR_VARIABILITY + PRIOR_SKEW * np.tile(SKEWS, (count, 1))
        self._busy = np.zeros(count)
        self._processed = np.zeros(count)
        self.skew: Floats = np.zeros(count)
        self.variability: Floats = np.ones(count)
        self._seen_s = -np.inf

    @property
    def known(self) -> Bools:
        """(O,) it has processed something."""
        return self._processed > 0.0

    @property
    def service_s(self) -> Floats:
        """(O,) time of one instance for one record; nan where it is not known."""
        found = np.full(len(self._busy), np.nan)
        np.divide(self._busy, self._processed, out=found, where=self.known)
        return found

    def add(self, view: StreamView, rows: int) -> None:
        """What the newest snapshots say; a view that was added before changes nothing."""
        if view.time_s <= self._seen_s:
            return
        self._seen_s = view.time_s
        parallelism = view.op_parallelism[-rows:].astype(np.float64)
        busy, rate = parallelism * view.op_busy[-rows:], view.op_rate[-rows:]
        self._busy += busy.sum(axis=0)
        self._processed += rate.sum(axis=0)
        there = view.op_latency_s[-rows:] * rate
        still = view.job_down_share[-rows:][:, self._job] > 0.0
        used = (rate > 0.0) & (busy > 0.0) & (view.op_blocked[-rows:] < 1e-6) & ~still
        self._add_queues(parallelism, busy, np.maximum(there - busy, 0.0), used / (1.0 + there) ** 2)
        best_v = np.maximum(self._hx / self._hh, 0.0)
        error = self._xx - 2.0 * best_v * self._hx + best_v**2 * self._hh
        place = error.argmin(axis=1)
        each = np.arange(len(place))
        self.skew, self.variability = SKEWS[place], best_v[each, place]

    def _add_queues(self, parallelism: Floats, busy: Floats, excess: Floats, weight: Floats) -> None:
        at_once = instances_at_once(parallelism[..., None], SKEWS)
        share = busy[..., None] / at_once
        over = share > MOST_LOAD
        h = waiting(np.minimum(share, MOST_LOAD), at_once)
        w, x = np.where(over, 0.0, weight[..., None]), excess[..., None]
        self._hh += (w * h * h).sum(axis=0)
        self._hx += (w * h * x).sum(axis=0)
        self._xx += (w * x * x).sum(axis=0) + IMPOSSIBLE * (over & (weight[..., None] > 0.0)).sum(axis=0)
