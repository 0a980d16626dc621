"""What learned autoscalers see of a streaming job: a row of numbers for each operator in each snapshot.

Everything is free of units, so that a network serves jobs with other service times, rates and sizes: times count in the
job's SLO or in intervals, instances in those an operator may have, rates by what they ask of an operator.  What one
record costs is measured: the time instances were busy over the records they processed, over all that is in the history.
What rates did in the last day is remembered from view to view.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.core.stream import DAY_S, Floats, Ints, StreamInfo, StreamView
from dovetail.features.stream_memory import RateMemory

Singles = NDArray[np.float32]

NAME = "stream-3"
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
    "age of the snapshot",
    "rate to come against that before, a day ago",
    "that is known",
    "bursts of the last day",
)
BUSY, BLOCKED, DEMAND = 0, 1, 3
LOGARITHMS = (slice(3, 4), slice(5, 8))  # these are log(1 + x)
MOST_DEMAND = 4.0  # of the instances it has, beyond which more makes no difference
TINY = 1e-12
BURST = 0.99  # the quantile of rates that is taken for one


class StreamFeatures:
    """Works out the rows of one job set; what does not change with time is worked out once.

    Views of several worlds may be shown in turn if the same comes to all of them at the same times.
    """

    def __init__(self, info: StreamInfo) -> None:
        self._info = info
        count, jobs = len(info.operator_job), len(info.job_name)
        self._job = info.operator_job
        self.memory, self._ahead = RateMemory(info), info.snapshots
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
        self._fixed = np.zeros((3, 1, count), np.float32)
        self._fixed[0] = deep / np.maximum(deepest[info.operator_job], 1.0)
        self._fixed[1] = self._above.count == 0
        self._fixed[2] = self._below.count == 0

    def of(self, view: StreamView) -> Singles:
        """(L, O, F) with L = `StreamInfo.history`, the newest last; the first snapshot stands for those before it.

        In memory columns come first, as they are filled one by one.
        """
        info = self._info
        rows = len(view.op_busy)
        missing = max(info.history - rows, 0)
        whole: Singles = np.empty((len(COLUMNS), missing + rows, len(self._job)), np.float32)
        found = whole[:, missing:]
        service_s = cost_s(view)
        demand = view.op_input_rate * service_s
        instances = view.op_parallelism
        waiting = view.op_queued / instances
        found[0], found[1] = view.op_busy, view.op_blocked
        found[2] = instances / info.operator_max
        found[3] = demand
        found[4] = np.minimum(demand / instances, MOST_DEMAND)
        found[5] = waiting * (service_s / info.interval_s)
        found[6] = waiting
        found[7] = view.op_latency_s / self._slo_s
        for columns in LOGARITHMS:
            np.log1p(found[columns], out=found[columns])
        self._above.of(found[7], out=found[8:11])
        self._below.of(found[7], out=found[11:14])
        self._jobs(view).take(self._job, axis=2, out=found[14:19], mode="clip")
        found[19:22] = self._fixed
        age = np.arange(rows - 1, -1, -1.0)
        found[22:24] = clock(view.clock_s - info.snapshot_s * age).T[..., None]
        found[24] = (age / info.history)[:, None]
        found[25:28] = self._day(view)[:, None, self._job]
        whole[:, :missing] = found[:, :1]
        return whole.transpose(1, 2, 0)

    def _jobs(self, view: StreamView) -> Singles:
        """(5, H, J) columns of jobs."""
        info, rate = self._info, view.job_rate
        found: Singles = np.empty((5, *rate.shape), np.float32)
        mean_rate = np.maximum(rate.mean(axis=0), TINY)
        found[0] = view.op_busy @ self._member
        found[1] = np.log1p(view.job_latency_s / info.job_slo_s)
        found[2] = np.log1p(view.job_lag / (mean_rate * info.job_slo_s))
        found[3] = np.log(np.maximum(rate, TINY) / mean_rate).clip(-4.0, 4.0)
        found[4] = view.job_down_share
        return found

    def _day(self, view: StreamView) -> Singles:
        """(3, J) columns of jobs."""
        memory, ahead = self.memory, self._ahead
        memory.add(view)
        known = np.full(len(self._info.job_name), float(memory.knows_growth(ahead)))
        rows = (np.log(memory.growth(ahead)), known, np.log(memory.burst(ahead, BURST)))
        return np.stack(rows).astype(np.float32)


class Around:
    """Mean, maximum and sum over the operators on one side of each."""

    def __init__(self, of: Ints, others: Ints, count: int) -> None:
        from dovetail.features.stream_measure import look_around  # numba: not for a list of schedulers

        self._look = look_around
        self._others = others[np.argsort(of, kind="stable")]
        self.count = np.bincount(of, minlength=count)
        self._ends = np.cumsum(self.count)

    def of(self, values: Singles, out: Singles) -> None:
        """`out` (3, H, O) of values (H, O) that are 0 or more; 0 where there is nobody."""
        self._look(values, self._others, self._ends, out)


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
    """(H, 2) time of day as an angle.

    Not that of the week: a history of some weeks has every hour of it a few times only, which networks learn by heart.
    """
    day = 2.0 * np.pi * time_s / DAY_S
    return np.stack((np.sin(day), np.cos(day)), axis=-1)
