"""stream/flink: the rule of the autoscaler that comes with Flink's Kubernetes operator, with its default settings.

It measures true rates as DS2 (`measured`), over a window of 15 minutes, and asks each operator for a capacity

    capacity(u, with restart) = target / u + lag / catch_up + [target * restart / catch_up, with restart]

that processes what comes at a utilisation u, works off in `catch_up_s` the records that wait at the sources, and those
that will have come while the job restarts.  A job is rescaled if any operator's capacity, p * true rate, is

    below  capacity(utilisation + boundary, without restart)  or  above  capacity(utilisation - boundary, with restart)

and then all its operators get ceil(capacity(utilisation, with restart) / true rate) instances, but

- no fewer than 1 - `most_down` times those they have,
- no fewer than they have, if any of the job got more within the last `grace_s` (of which the view's history shows),
- no fewer than they have while the job has a backlog: more waits at its sources than came in `backlog_s`; nothing is
  then too large, so it alone does not cause a rescale.

Departures: the restart takes what it took before (`StreamInfo.job_restart_s`, as there with time tracking on), not 5
minutes; parallelism is not rounded to divisors of the number of key groups; ineffective scale-ups are not looked for
(there this is off); a job that stands still is left alone, for which there is a stabilisation interval there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Bools, Floats, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer, instances, of_jobs
from dovetail.schedulers.heuristic.stream.measured import Meter


class Flink:
    TUNE: ClassVar = {
        "utilisation": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "boundary": (0.1, 0.2, 0.3, 0.4),
        "window_s": (0.0, 300.0, 900.0, 3600.0),
        "grace_s": (0.0, 3600.0),
    }

    @dataclass(frozen=True)
    class Params:
        utilisation: float = field(default=0.7, metadata={"help": "share of its time an instance is to be busy"})
        boundary: float = field(default=0.3, metadata={"help": "how far off that share nothing is changed"})
        window_s: float = field(default=900.0, metadata={"help": "history it measures; 0: since the last decision"})
        catch_up_s: float = field(default=1800.0, metadata={"help": "time in which a backlog is worked off"})
        backlog_s: float = field(default=300.0, metadata={"help": "seconds of records at the sources: a backlog"})
        grace_s: float = field(default=3600.0, metadata={"help": "after a scale-up: so long no scale-down"})
        most_down: float = field(default=0.6, metadata={"help": "share of its instances taken away at once, at most"})

        def __post_init__(self) -> None:
            if not 0.0 < self.utilisation <= 1.0:
                raise ValueError(f"utilisation is {self.utilisation}; expected a share above 0, 1 at most")
            if not 0.0 <= self.boundary < 1.0:
                raise ValueError(f"boundary is {self.boundary}; expected a share from 0 to below 1")
            if not 0.0 <= self.most_down <= 1.0:
                raise ValueError(f"most_down is {self.most_down}; expected a share from 0 to 1")
            if not 0.0 < self.catch_up_s < np.inf:
                raise ValueError(f"catch_up_s is {self.catch_up_s}; expected seconds, above 0")
            for name in ("window_s", "backlog_s", "grace_s"):
                if not 0.0 <= getattr(self, name) < np.inf:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected seconds, 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._meter = Meter(info)

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info, params, meter = self._info, self.params, self._meter
        assert info is not None, "reset comes first"
        measured = meter.measure(view, meter.rows(view, params.window_s))
        known = np.isfinite(measured.demand)
        waiting = np.where(meter.is_source, view.op_queued[-1], 0.0)
        backlog = of_jobs(info, meter.is_source & (waiting > params.backlog_s * measured.target_rate))
        behind = backlog[info.operator_job]
        # everything below counts in instances: rates over the true rate of one
        target = np.where(known, measured.demand, 0.0)
        lag = meter.flow(waiting, measured.factor) / params.catch_up_s / measured.true_rate
        lag = np.where(known, lag, 0.0)
        restart = target * info.job_restart_s[info.operator_job] / params.catch_up_s
        low = params.utilisation - params.boundary
        most = target / low + lag + restart if low > 0.0 else np.full(len(target), np.inf)
        most[behind] = np.inf
        least = target / min(params.utilisation + params.boundary, 1.0) + lag
        now = view.parallelism
        wanted = self._limited(view, target / params.utilisation + lag + restart, known, behind)
        off = known & ((now < least - 1e-9) | (now > most + 1e-9)) & (wanted != now)
        acts = of_jobs(info, off) & ~view.job_down
        wanted = np.where(acts[info.operator_job], wanted, now)
        reason = np.where(lag > 0.5, int(Reason.CATCH_UP), int(Reason.TRUE_RATE))
        return answer(info, view, wanted, reason, measured.demand)

    def _limited(self, view: StreamView, capacity: Floats, known: Bools, behind: Bools) -> Ints:
        """Whole instances; those who may have no fewer than before keep what they have."""
        info, now = self._info, view.parallelism
        assert info is not None
        wanted = np.maximum(instances(capacity), instances(now.astype(np.float64) * (1.0 - self.params.most_down)))
        wanted = np.clip(wanted, 1, info.operator_max)
        kept = behind | self._grew(view)[info.operator_job]
        limited: Ints = np.where(known, np.where(kept, np.maximum(wanted, now), wanted), now)
        return limited

    def _grew(self, view: StreamView) -> Bools:
        """(J,) whether an operator of the job got more within the grace period."""
        info = self._info
        assert info is not None
        rows = min(int(np.ceil(self.params.grace_s / info.snapshot_s - 1e-9)), len(view.op_parallelism) - 1)
        if rows < 1:
            return np.zeros(len(info.job_name), dtype=np.bool_)
        more: Bools = np.diff(view.op_parallelism[-rows - 1 :], axis=0) > 0
        return of_jobs(info, np.logical_or.reduce(more, axis=0))
