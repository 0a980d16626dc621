"""What the rates of streaming jobs did in the last day: longer ago than a view shows, so it has to be remembered."""

from __future__ import annotations

import numpy as np

from dovetail.core.stream import DAY_S, Floats, StreamInfo, StreamView

MOST_GROWTH = 2.0  # and half at least: a day ago may have been another sort of day
DAYS = 2  # that are remembered: at the end of a day, the one before it is still needed


class RateMemory:
    """Rates by snapshot, the newest last.  Show it every view, once or more often."""

    def __init__(self, info: StreamInfo) -> None:
        self._snapshot_s = info.snapshot_s
        self._day = round(DAY_S / info.snapshot_s)
        self._rates: Floats = np.zeros((0, len(info.job_name)))
        self._seen_s = -np.inf
        self._found: dict[tuple[float, ...], Floats] = {}  # what was asked since the last view

    def add(self, view: StreamView) -> None:
        if view.time_s <= self._seen_s:
            return
        rows = view.job_rate
        if np.isfinite(self._seen_s):
            since = round((view.time_s - self._seen_s) / self._snapshot_s)
            unseen = max(since - len(rows), 0)  # longer ago than the view goes back: as in the first of what it shows
            rows = np.concatenate([np.repeat(rows[:1], unseen, axis=0), rows[max(len(rows) - since, 0) :]])
        self._seen_s = view.time_s
        self._found.clear()
        self._rates = np.concatenate([self._rates, rows])[-DAYS * self._day :]

    def knows_growth(self, ahead: int) -> bool:
        return len(self._rates) - self._day >= ahead

    def growth(self, ahead: int) -> Floats:
        """(J,) mean rate of the `ahead` snapshots that followed a day ago, over those before; 1 if it is not known."""
        if (ahead,) not in self._found:
            self._found[(ahead,)] = self._growth(ahead)
        return self._found[(ahead,)]

    def _growth(self, ahead: int) -> Floats:
        rates, then = self._rates, len(self._rates) - self._day  # what would be now, a day ago
        growth = np.ones(rates.shape[1])
        if self.knows_growth(ahead):
            before, after = rates[then - ahead : then].mean(axis=0), rates[then : then + ahead].mean(axis=0)
            np.divide(after, before, out=growth, where=before > 0.0)
        return np.clip(growth, 1.0 / MOST_GROWTH, MOST_GROWTH)

    def burst(self, ahead: int, quantile: float) -> Floats:
        """(J,) a quantile of rate / mean of its `ahead` snapshots, over the last day; 1 at least."""
        if (ahead, quantile) not in self._found:
            self._found[(ahead, quantile)] = self._burst(ahead, quantile)
        return self._found[(ahead, quantile)]

    def _burst(self, ahead: int, quantile: float) -> Floats:
        parts = min(len(self._rates), self._day) // ahead
        if parts == 0:  # less than that is remembered
            ahead, parts = len(self._rates), 1
        cut = self._rates[-parts * ahead :].reshape(parts, ahead, -1)
        mean = cut.mean(axis=1, keepdims=True)
        share = np.divide(cut, mean, out=np.ones_like(cut), where=mean > 0.0)
        return np.maximum(quantile_of(share.reshape(parts * ahead, -1), quantile), 1.0)


def quantile_of(rows: Floats, quantile: float) -> Floats:
    """`np.quantile` of each column, in an eighth of its time."""
    at = quantile * (len(rows) - 1)
    below = int(at)
    above = min(below + 1, len(rows) - 1)
    low, high = np.partition(rows, (below, above), axis=0)[[below, above]]
    found: Floats = low + (at - below) * (high - low)
    return found
