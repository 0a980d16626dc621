"""stream/dhalion: self-regulation by symptoms (Floratou et al., VLDB 2017), as for Heron.

*Symptom*: an operator could not hand on its output for more than `threshold` of its time.  *Diagnosis*: it is held up
by whichever of its children is not held up itself; of several, by the one at which records wait longest.  *Resolution*:
with bp the share of time for which it was held up,

    that child gets ceil(factor * p) instances,    factor = 1 + bp / (1 - bp),   bp at most 0.9

as in the time without back-pressure it had to do the work of all the time.  A job without symptoms, at whose operators
no more waits than `queue_s` seconds of work, has those that are busy for less than `idle` of their time reduced to
`shrink` times as many instances, rounded down.

Departures: a source that cannot keep up holds up nobody; its back-pressure is the share of what came that it did not
process.  The original's blacklist of resolutions that made things worse is left out: it would end scale-downs for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Floats, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer, instances, of_jobs
from dovetail.schedulers.heuristic.stream.measured import Meter

MOST_BACK_PRESSURE = 0.9


class Dhalion:
    TUNE: ClassVar = {
        "threshold": (0.01, 0.05, 0.1, 0.2),
        "idle": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
        "shrink": (0.5, 0.7, 0.8, 0.9),
        "window_s": (0.0, 300.0, 900.0),
    }

    @dataclass(frozen=True)
    class Params:
        threshold: float = field(default=0.05, metadata={"help": "share of time held up that is a symptom"})
        idle: float = field(default=0.5, metadata={"help": "busy for less than this share, it is reduced"})
        shrink: float = field(default=0.8, metadata={"help": "what is left of an idle operator's instances"})
        queue_s: float = field(default=1.0, metadata={"help": "seconds of work that may wait at an operator idle"})
        window_s: float = field(default=300.0, metadata={"help": "history it looks at; 0: since the last decision"})

        def __post_init__(self) -> None:
            for name in ("threshold", "idle", "shrink"):
                if not 0.0 < getattr(self, name) < 1.0:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected a share between 0 and 1")
            for name in ("queue_s", "window_s"):
                if not 0.0 <= getattr(self, name) < np.inf:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected seconds, 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._meter = Meter(info)
        self._children: list[list[int]] = [[] for _ in info.operator_name]
        for origin, target in zip(info.edge_from.tolist(), info.edge_to.tolist(), strict=True):
            self._children[origin].append(target)

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info, params, now = self._info, self.params, view.parallelism
        assert info is not None, "reset comes first"
        rows = self._meter.rows(view, params.window_s)
        pressure = self.back_pressure(view, rows)
        held_up = of_jobs(info, pressure > 0.0)[info.operator_job]
        busy = view.op_busy[-rows:].mean(axis=0)
        measured = self._meter.measure(view, rows)
        with np.errstate(invalid="ignore"):  # nan, where it has not been measured, is never idle
            empty = view.op_queued[-1] <= params.queue_s * now * measured.true_rate
        waits = of_jobs(info, ~empty)[info.operator_job]
        shrunk = np.floor(params.shrink * now + 1e-9).astype(np.int64)
        idle = ~held_up & ~waits & (busy < params.idle)
        grown = instances(now * (1.0 + pressure / (1.0 - pressure)))
        wanted = np.where(pressure > 0.0, grown, np.where(idle, np.maximum(shrunk, 1), now))
        wanted = np.where(view.job_down[info.operator_job], now, wanted)
        reason = np.where(wanted > now, int(Reason.BACK_PRESSURE), int(Reason.IDLE))
        return answer(info, view, wanted, reason, (busy * now).astype(np.float64))

    def back_pressure(self, view: StreamView, rows: int) -> Floats:
        """(O,) share of the time for which an operator held up others, or lost ground itself; 0: it is not to blame."""
        threshold = self.params.threshold
        blocked = view.op_blocked[-rows:].mean(axis=0)
        waited = view.op_latency_s[-rows:].mean(axis=0)
        found = np.zeros(len(blocked))
        for i in np.flatnonzero(blocked > threshold).tolist():
            free = [child for child in self._children[i] if blocked[child] <= threshold]
            if free:
                worst = max(free, key=lambda child: float(waited[child]))
                found[worst] = max(found[worst], blocked[i])
        came = view.op_input_rate[-rows:].sum(axis=0)
        missed = np.zeros(len(blocked))
        np.divide(came - view.op_rate[-rows:].sum(axis=0), came, out=missed, where=came > 0.0)
        alone = self._meter.is_source & (blocked <= threshold) & (missed > threshold)
        return np.minimum(np.where(alone, np.maximum(found, missed), found), MOST_BACK_PRESSURE)
