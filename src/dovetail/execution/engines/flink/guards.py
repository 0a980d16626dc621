"""What a scheduler's wishes have to pass before a job is stopped for them.  Pure: times are given.

- *Bounds*: every operator has its fewest and most instances; two that hand on one to one have as many as each other.
- *Cool-down*: no rescale within so long after the last.
- *Budget*: no more than so many rescales in any hour.
- *Rollback*: if latency is above the SLO after a rescale, so many times what it was before, does not recover, and no
  more comes than before, the job gets back what it had.  This passes cool-down and budget, and counts in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.stream import Ints
from dovetail.execution.engines.flink.job import Edge
from dovetail.execution.engines.flink.messages import FlinkOptions
from dovetail.execution.engines.flink.snapshot import Snapshot

HOUR_S = 3600.0
SAME_LOAD = 1.1  # times what came before, at most: beyond, it may be the load that is to blame
RECOVERS = 0.9  # times as late at the end as half-way is a recovery


@dataclass(frozen=True, eq=False)
class Trial:
    """A rescale that has not been judged yet."""

    before: Ints  # (O,) instances
    latency_s: float
    rate: float
    up_s: float  # when the job was up again


class Guards:
    def __init__(self, options: FlinkOptions, least: Ints, most: Ints, edges: Sequence[Edge]) -> None:
        self._options = options
        self._least, self._most = least, most
        self._ties = _ties(len(least), edges)
        self._asked_s: list[float] = []
        self._trial: Trial | None = None

    def bounded(self, wanted: Ints) -> Ints:
        """(O,) the same, within bounds."""
        found = np.clip(wanted, self._least, self._most)
        for tie in self._ties:
            found[tie] = min(int(found[tie].max()), int(self._most[tie].min()))
        return found

    def why_not(self, now_s: float) -> str:
        """Why the job may not be rescaled now; empty: it may."""
        options = self._options
        if self._asked_s and now_s < self._asked_s[-1] + options.cooldown_s:
            left_s = self._asked_s[-1] + options.cooldown_s - now_s
            return f"cool-down: the last rescale was {now_s - self._asked_s[-1]:.0f} s ago, {left_s:.0f} s to go"
        recent = sum(at_s > now_s - HOUR_S for at_s in self._asked_s)
        if recent >= options.most_per_hour:
            return f"budget: {recent} rescales within the last hour, {options.most_per_hour} at most"
        return ""

    def asked(self, now_s: float) -> None:
        self._asked_s = [at_s for at_s in self._asked_s if at_s > now_s - HOUR_S] + [now_s]

    def came_up(self, before: Ints, rows: Sequence[Snapshot], asked_s: float, up_s: float) -> None:
        """A rescale is done: what it did is judged later, against the rows from before it was asked for."""
        window_s = self._window_s
        seen = [row for row in rows if asked_s - window_s < row.end_s <= asked_s + 1e-6 and row.down_share == 0.0]
        if not seen or math.isinf(self._options.rollback_factor):
            self._trial = None
            return
        self._trial = Trial(before.copy(), _mean(seen, "job_latency_s"), _mean(seen, "job_rate"), up_s)

    def forget_trial(self) -> None:
        self._trial = None

    def rollback(self, now_s: float, rows: Sequence[Snapshot]) -> tuple[Ints, str] | None:
        """What the job had before and gets again, and why."""
        trial, options = self._trial, self._options
        if trial is None or now_s < trial.up_s + self._window_s - 1e-6:
            return None
        self._trial = None
        late = [row for row in rows if row.end_s > trial.up_s + self._window_s / 2]
        if not late:
            return None
        latency_s, rate = _mean(late, "job_latency_s"), _mean(late, "job_rate")
        worse = latency_s > max(options.slo_s, options.rollback_factor * trial.latency_s)
        recovers = len(late) > 1 and late[-1].job_latency_s < RECOVERS * late[0].job_latency_s
        if not worse or recovers or rate > SAME_LOAD * trial.rate:
            return None
        why = (
            f"latency is {latency_s:.3g} s, {trial.latency_s:.3g} s before the rescale, though no more comes "
            f"({rate:.4g} records a second, {trial.rate:.4g} before)"
        )
        return trial.before, why

    @property
    def _window_s(self) -> float:
        chosen = self._options.rollback_s
        return self._options.interval_s if chosen is None else chosen


def _mean(rows: Sequence[Snapshot], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def _ties(count: int, edges: Sequence[Edge]) -> list[Ints]:
    """Operators that need as many instances as each other."""
    group = np.arange(count)
    for edge in edges:
        if edge.forward:
            group[group == group[edge.target]] = group[edge.origin]
    return [np.flatnonzero(group == one) for one in np.unique(group) if (group == one).sum() > 1]
