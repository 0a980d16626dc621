"""When a job stood still, from what was seen of it."""

from __future__ import annotations

import math
from typing import NamedTuple

from dovetail.execution.engines.flink.job import RUNNING
from dovetail.execution.engines.flink.messages import Glance, Look
from dovetail.execution.engines.flink.rescales import ASKED, HISTORY, TIMELINE

SKEW_S = 5.0  # that the job manager's clock may be behind ours


class Stop(NamedTuple):
    """It stood still from then until then; `basis` says how the beginning is known."""

    from_s: float
    to_s: float
    basis: str

    @property
    def lasted_s(self) -> float:
        return max(self.to_s - self.from_s, 0.0)


class Downtime:
    """Follows one job from look to look."""

    def __init__(self, first: Look) -> None:
        self._seen_s = first.now_s
        self._graph_ms = first.job.created_ms  # the last graph of which all subtasks ran
        self._stopped_s = math.nan  # as seen in its timeline, while it was down

    def glance(self, glance: Glance) -> None:
        if glance.state != RUNNING and glance.stopped_s > 0.0 and math.isnan(self._stopped_s):
            self._stopped_s = glance.stopped_s

    def since(self, look: Look, asked_s: float) -> tuple[float, Stop | None]:
        """Seconds that it stood still since the last look, and the stop that has ended since.

        `asked_s`: when a rescale was asked for that is under way; nan: none is.
        """
        seen_s, self._seen_s = self._seen_s, look.now_s
        self.glance(Glance(look.now_s, look.job.state, look.job.stopped_ms / 1000.0))
        if is_down(look):
            from_s = seen_s if math.isnan(self._stopped_s) else self._stopped_s
            return _overlap(from_s, look.now_s, seen_s, look.now_s), None
        if look.job.created_ms == self._graph_ms:
            return 0.0, None
        stop = self._stop(look, seen_s if math.isnan(asked_s) else asked_s)
        self._graph_ms, self._stopped_s = look.job.created_ms, math.nan
        return _overlap(stop.from_s, stop.to_s, seen_s, look.now_s), stop

    def _stop(self, look: Look, earliest_s: float) -> Stop:
        to_s, rescale = look.running_since_s, look.rescale
        if rescale is not None and earliest_s - SKEW_S < rescale.stopped_ms / 1000.0 < to_s:
            return Stop(rescale.stopped_ms / 1000.0, to_s, HISTORY)
        if self._stopped_s < to_s:
            return Stop(self._stopped_s, to_s, TIMELINE)
        return Stop(min(earliest_s, to_s), to_s, ASKED)


def is_down(look: Look) -> bool:
    return look.job.state != RUNNING or math.isnan(look.running_since_s)


def _overlap(from_s: float, to_s: float, low_s: float, high_s: float) -> float:
    return max(0.0, min(to_s, high_s) - max(from_s, low_s))
