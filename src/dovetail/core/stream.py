"""Long-running streaming jobs: what an autoscaler sees and says.

A job is a graph of operators, from sources to sinks, each run by a number of like instances (its *parallelism*), one
instance a slot.  The world asks at regular times; the answer names operators and the parallelism each of them is to
have.  An operator that is not named keeps what it has, and an empty answer changes nothing and costs nothing.  Changing
any operator of a job restarts that job: it stands still for a while and does again what it did since its last
checkpoint.  `docs/stream-model.md` is the specification.

Operators of all jobs are numbered 0 .. O - 1, job by job, each after all those that feed it.  -1 is the only "none".
Arrays of a view are read-only and valid until the next decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Bools, Floats, Ints

DAY_S, WEEK_S = 86_400.0, 604_800.0


class StreamView(NamedTuple):
    """What was measured up to now.

    Time is cut into snapshots of `StreamInfo.snapshot_s`; a row of a history is what was measured in one of them, the
    newest last.  There are H rows: as many as have gone by, `StreamInfo.history` at most.  Rates are records a second.
    """

    time_s: float  # since the start
    clock_s: float  # since Monday, 0:00: 0 .. WEEK_S
    parallelism: Ints  # (O,) as it is now
    job_down: Bools  # (J,) stands still because it is being rescaled
    job_rescaled_s: Floats  # (J,) when its parallelism was last changed; -inf: never
    # operators, by snapshot
    op_input_rate: Floats  # (H, O) records that became available to it
    op_rate: Floats  # (H, O) records it processed
    op_busy: Floats  # (H, O) share of its instances' time spent processing, 0 .. 1
    op_blocked: Floats  # (H, O) share of their time in which nobody took its output; busy + blocked <= 1
    op_queued: Floats  # (H, O) records waiting at it or in it, at the end; for sources also those not fetched yet
    op_latency_s: Floats  # (H, O) mean time records spent at it, those still waiting counted
    op_parallelism: Ints  # (H, O) at the end
    # jobs, by snapshot
    job_rate: Floats  # (H, J) records that arrived from outside
    job_latency_s: Floats  # (H, J) mean time from arrival to the last sink; where nothing left, of the oldest waiting
    job_lag: Floats  # (H, J) records that arrived and have not left the last sink, at the end
    job_down_share: Floats  # (H, J) share of the snapshot in which it stood still


class Reason(IntEnum):
    """Why an operator gets the parallelism it gets."""

    UNSTATED = 0
    METRIC_OVER_TARGET = 1
    METRIC_UNDER_TARGET = 2
    TRUE_RATE = 3
    CATCH_UP = 4
    BACK_PRESSURE = 5
    IDLE = 6
    BEST_FIXED = 7
    KNOWN_FUTURE = 8
    LEARNED = 9
    FORECAST = 10
    OUTSIDE_AGENT = 11
    DRAWN_AT_RANDOM = 12
    OVER_BUDGET = 13


REASON_TEXT: dict[Reason, str] = {
    Reason.UNSTATED: "the scheduler gave no reason",
    Reason.METRIC_OVER_TARGET: "its instances were busier than the target",
    Reason.METRIC_UNDER_TARGET: "its instances have been less busy than the target for long enough",
    Reason.TRUE_RATE: "so many instances process the records that come, at the rate each of them really has",
    Reason.CATCH_UP: "so many instances process the records that come and work off what has piled up",
    Reason.BACK_PRESSURE: "it was what held the others up",
    Reason.IDLE: "nobody was held up, and it was mostly idle",
    Reason.BEST_FIXED: "the best parallelism that never changes, found by search",
    Reason.KNOWN_FUTURE: "best for the records to come, which it was told",
    Reason.LEARNED: "the learned policy chose it",
    Reason.FORECAST: "the learned policy chose it for the load it forecasts",
    Reason.OUTSIDE_AGENT: "chosen by an agent outside",
    Reason.DRAWN_AT_RANDOM: "drawn at random",
    Reason.OVER_BUDGET: "it wanted more, but there are no more slots",
}


class StreamDecision(NamedTuple):
    """One operator gets this many instances.  All decisions of an answer are carried out together, or none of them.

    `demand` explains: how many instances the scheduler thinks would be busy all the time, a fraction (nan: not said).
    """

    operator: int
    parallelism: int
    reason: Reason = Reason.UNSTATED
    demand: float = float("nan")


@dataclass(frozen=True, eq=False)
class StreamInfo:
    """What a scheduler is told once, before the first view.  O operators in J jobs, E edges."""

    operator_name: tuple[str, ...]  # (O,)
    operator_job: Ints  # (O,) non-decreasing
    operator_max: Ints  # (O,) at most so many instances
    edge_from: Ints  # (E,) operator; edges are sorted by `edge_to`
    edge_to: Ints  # (E,) operator, above `edge_from`
    job_name: tuple[str, ...]  # (J,)
    job_slo_s: Floats  # (J,) latency that its users wait for without complaint
    job_restart_s: Floats  # (J,) how long a rescale takes it, as measured before
    slots: int  # instances of all operators together, at most
    interval_s: float  # between two decisions
    snapshot_s: float
    history: int  # snapshots in a view, at most
    weight: float  # of latency in the reward; that of utilisation is 1 - weight
    future: StreamFuture | None = None  # only where that is asked for (`CLAIRVOYANT`)

    @property
    def snapshots(self) -> int:
        """Of one interval, rounded up: what has come since the last decision."""
        return max(1, int(np.ceil(self.interval_s / self.snapshot_s - 1e-9)))


@dataclass(frozen=True, eq=False)
class StreamFuture:
    """What nobody knows."""

    bin_s: float  # length of a column of `rate`
    rate: Floats  # (J, T) records a second that arrive from outside
    operator_load_s: Floats  # (O,) instance-seconds of work for each record that arrives from outside, skew left out


def reward(latency_s: Floats, slo_s: Floats, utilisation: Floats, weight: float) -> Floats:
    """What an interval was worth to its users: -weight * latency + (1 - weight) * utilisation.

    Latency counts in units of the job's `slo_s`, ten of them at most, so that one bad hour is bad, but not everything.
    """
    late: Floats = np.minimum(latency_s / slo_s, LATENCY_CAP)
    found: Floats = -weight * late + (1.0 - weight) * utilisation
    return found


LATENCY_CAP = 10.0

__all__ = [
    "DAY_S",
    "LATENCY_CAP",
    "REASON_TEXT",
    "WEEK_S",
    "Bools",
    "Floats",
    "Ints",
    "Reason",
    "StreamDecision",
    "StreamFuture",
    "StreamInfo",
    "StreamView",
    "reward",
]
