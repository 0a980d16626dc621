"""What learned autoscalers see of a streaming job: a row of numbers for each operator in each snapshot.

Everything is free of units, so that a network serves jobs with other service times, rates and sizes: times count in the
job's SLO or in intervals, instances in those an operator may have, rates by what they ask of an operator.  What one
record costs is measured: the time instances were busy over the records they processed, over all that is in the history.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.core.stream import DAY_S, WEEK_S, Floats, Ints, StreamInfo, StreamView

NAME = "stream-1"
COLUMNS = (
    "busy",
    "blocked",
    "instances, of those it may have",
    "instances that what came would keep busy",
    "the same, of those it has",
    "time an instance needs for what waits, in intervals",
    "records waiting at an instance",
    "latency",
    "latency of those that feed it, mean",
    "latency of those that feed it, largest",
    "latency of those that feed it, sum",
    "latency of those it feeds, mean",
    "latency of those it feeds, largest",
    "latency of those it feeds, sum",
    "utilisation of the job",
    "latency of the job",
    "records in the job, by how long they take to come",
    "rate of the job against its mean",
    "share of time the job stood still",
    "depth",
    "is a source",
    "is a sink",
    "time of day, sine",
    "time of day, cosine",
    "time of week, sine",
    "time of week, cosine",
    "age of the snapshot",
)
BUSY, BLOCKED, DEMAND = 0, 1, 3
MOST_DEMAND = 4.0  # of the instances it has, beyond which more makes no difference
TINY = 1e-12


class StreamFeatures:
    """Works out the rows of one job set; what does not change with time is worked out once."""

    def __init__(self, info: StreamInfo) -> None:
        self._info = info
        count, jobs = len(info.operator_job), len(info.job_name)
        self._job = info.operator_job
        self._member = np.zeros((count, jobs))
        self._member[np.arange(count), info.operator_job] = (
            1.0 / np.bincount(info.operator_job, minlength=jobs)[info.operator_job]
        )
        self._above = Around(info.edge_to, info.edge_from, count)
        self._below = Around(info.edge_from, info.edge_to, count)
        self._slo_s = info.job_slo_s[info.operator_job]
        deep = depth(info)
        deepest = np.zeros(jobs)
        np.maximum.at(deepest, info.operator_job, deep)
        fixed = np.zeros((count, 3))
        fixed[:, 0] = deep / np.maximum(deepest[info.operator_job], 1.0)
        fixed[:, 1] = self._above.count == 0
        fixed[:, 2] = self._below.count == 0
        self._fixed = fixed

    def of(self, view: StreamView) -> NDArray[np.float32]:
        """(L, O, F) with L = `StreamInfo.history`, the newest last; the first snapshot stands for those before it."""
        info = self._info
        rows = len(view.op_busy)
        found: NDArray[np.float32] = np.empty((rows, len(self._job), len(COLUMNS)), np.float32)
        service_s = cost_s(view)
        demand = view.op_input_rate * service_s
        instances = view.op_parallelism
        late = np.log1p(view.op_latency_s / self._slo_s)
        rate = view.job_rate
        mean_rate = rate.mean(axis=0)
        found[..., 0], found[..., 1] = view.op_busy, view.op_blocked
        found[..., 2] = instances / info.operator_max
        found[..., 3] = np.log1p(demand)
        found[..., 4] = np.minimum(demand / instances, MOST_DEMAND)
        found[..., 5] = np.log1p(view.op_queued * service_s / instances / info.interval_s)
        found[..., 6] = np.log1p(view.op_queued / instances)
        found[..., 7] = late
        found[..., 8], found[..., 9], found[..., 10] = self._above.of(late)
        found[..., 11], found[..., 12], found[..., 13] = self._below.of(late)
        jobs = np.stack(
            (
                view.op_busy @ self._member,
                np.log1p(view.job_latency_s / info.job_slo_s),
                np.log1p(view.job_lag / np.maximum(mean_rate, TINY) / info.job_slo_s),
                np.log(np.maximum(rate, TINY) / np.maximum(mean_rate, TINY)).clip(-4.0, 4.0),
                view.job_down_share,
            ),
            axis=-1,
        )
        found[..., 14:19] = jobs[:, self._job]
        found[..., 19:22] = self._fixed
        found[..., 22:26] = clock(view.clock_s - info.snapshot_s * np.arange(rows - 1, -1, -1.0))[:, None]
        found[..., 26] = (np.arange(rows - 1, -1, -1.0) / info.history)[:, None]
        missing = info.history - rows
        return found if missing <= 0 else np.concatenate((np.repeat(found[:1], missing, axis=0), found))


class Around:
    """Mean, maximum and sum over the operators on one side of each."""

    def __init__(self, of: Ints, others: Ints, count: int) -> None:
        order = np.argsort(of, kind="stable")
        self.count = np.bincount(of, minlength=count)
        self._others = others[order]
        self._whose, self._starts = np.unique(of[order], return_index=True)

    def of(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Each (H, O), of values (H, O) that are 0 or more; 0 where there is nobody."""
        total, most = np.zeros(values.shape), np.zeros(values.shape)
        if len(self._others):
            seen = values[:, self._others]
            total[:, self._whose] = np.add.reduceat(seen, self._starts, axis=1)
            most[:, self._whose] = np.maximum.reduceat(seen, self._starts, axis=1)
        return total / np.maximum(self.count, 1), most, total


def cost_s(view: StreamView) -> Floats:
    """(O,) time of an instance for one record, as measured; 0 where nothing was processed."""
    spent = (view.op_busy * view.op_parallelism).sum(axis=0)
    found: Floats = spent / np.maximum(view.op_rate.sum(axis=0), TINY)
    return found


def depth(info: StreamInfo) -> Floats:
    """(O,) edges on the longest way from a source."""
    found = np.zeros(len(info.operator_job))
    for origin, target in zip(info.edge_from, info.edge_to, strict=True):  # sorted by target
        found[target] = max(found[target], found[origin] + 1.0)
    return found


def clock(time_s: Floats) -> Floats:
    """(H, 4) time of day and of week as angles."""
    day, week = 2.0 * np.pi * time_s / DAY_S, 2.0 * np.pi * time_s / WEEK_S
    return np.stack((np.sin(day), np.cos(day), np.sin(week), np.cos(week)), axis=-1)
