"""stream/hpa: the Horizontal Pod Autoscaler of Kubernetes, one for each operator, with its default behaviour.

    recommended = ceil(current * busy / target)            as it is, if |busy / target - 1| <= tolerance (0.1)

A rise is taken at once, but within each 15 s at most to the larger of twice as many and 4 more; as it asks anew every
15 s, an interval has room for as many of these steps as fit into it.  A fall goes no lower than the highest
recommendation of the last 300 s (`stabilisation_s`), which is found anew from the history in the view.

The metric is the share of its time that an operator's instances were busy, over the newest `metric_s`, in which its job
stood still not counted.  `target` has no default there; 0.8 is what `kubectl autoscale` takes.

Departures: where Kubernetes would act every 15 s, this acts when it is asked; recommendations of the past are one a
snapshot.  Pods that are not ready are those of a job that stands still, and it is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Floats, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer, instances

PERIOD_S = 15.0
FACTOR, PODS = 2, 4  # a rise within one period: so many times as many, or so many more


class Hpa:
    TUNE: ClassVar = {
        "target": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "tolerance": (0.05, 0.1, 0.2, 0.3),
        "stabilisation_s": (0.0, 300.0, 900.0, 3600.0),
        "metric_s": (60.0, 300.0, 3600.0),
    }

    @dataclass(frozen=True)
    class Params:
        target: float = field(default=0.8, metadata={"help": "share of its time an instance is to be busy"})
        tolerance: float = field(default=0.1, metadata={"help": "relative distance to the target that changes nothing"})
        stabilisation_s: float = field(default=300.0, metadata={"help": "how long less must be enough before it falls"})
        metric_s: float = field(default=60.0, metadata={"help": "newest history that the metric is the mean of"})

        def __post_init__(self) -> None:
            if not 0.0 < self.target <= 1.0:
                raise ValueError(f"target is {self.target}; expected a share above 0, 1 at most")
            if not 0.0 <= self.tolerance < np.inf:
                raise ValueError(f"tolerance is {self.tolerance}; expected 0 or more")
            for name in ("stabilisation_s", "metric_s"):
                if not 0.0 <= getattr(self, name) < np.inf:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected seconds, 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info, params = self._info, self.params
        assert info is not None, "reset comes first"
        past = max(1, int(np.ceil(params.stabilisation_s / info.snapshot_s - 1e-9)))
        newest = max(1, int(np.ceil(params.metric_s / info.snapshot_s - 1e-9)))
        up = 1.0 - view.job_down_share[:, info.operator_job]  # (H, O)
        now, recommended = view.parallelism, self._recommended(view, up, past, newest)
        wanted = np.where(recommended[-1] > now, recommended[-1], np.minimum(recommended.max(axis=0), now))
        wanted = np.minimum(wanted, most_after(now, info.interval_s))
        wanted = np.where(view.job_down[info.operator_job], now, wanted)
        reason = np.where(wanted > now, int(Reason.METRIC_OVER_TARGET), int(Reason.METRIC_UNDER_TARGET))
        return answer(info, view, wanted, reason, (now * self._metric(view, up, 1, newest)[0]).astype(np.float64))

    def _metric(self, view: StreamView, up: Floats, past: int, newest: int) -> Floats:
        """(past, O) mean share of being busy in the `newest` snapshots up to each of the past ones; nan: was down."""
        rows = len(up)
        past = min(past, rows)
        busy = np.concatenate([np.zeros((1, up.shape[1])), np.cumsum(view.op_busy, axis=0)])
        lived = np.concatenate([np.zeros((1, up.shape[1])), np.cumsum(up, axis=0)])
        ends = np.arange(rows - past + 1, rows + 1)
        starts = np.maximum(ends - newest, 0)
        metric = np.full((past, up.shape[1]), np.nan)
        lived_s = lived[ends] - lived[starts]
        np.divide(busy[ends] - busy[starts], lived_s, out=metric, where=lived_s > 1e-9)
        return metric

    def _recommended(self, view: StreamView, up: Floats, past: int, newest: int) -> Ints:
        """(past, O) what would have been right at the end of each snapshot."""
        ratio = self._metric(view, up, past, newest) / self.params.target
        current = view.op_parallelism[-len(ratio) :]
        still = ~(np.abs(ratio - 1.0) > self.params.tolerance + 1e-9)  # and where nothing was measured
        found: Ints = np.where(still, current, instances(np.where(still, 0.0, current * ratio)))
        return np.maximum(found, 1)


def most_after(now: Ints, interval_s: float) -> Ints:
    """The most instances that a rise may lead to within an interval."""
    most = now.copy()
    for _ in range(min(max(1, int(interval_s / PERIOD_S + 1e-9)), 32)):  # 2**32 times as many is no limit
        most = np.maximum(FACTOR * most, most + PODS)
    return most
