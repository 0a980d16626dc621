"""What a run of the stream family is judged by: how late records are, and how much of what was allocated is used.

A job that stands still must not look better than one that is slow.  So an interval counts in `latency_s` by the records
that arrived or left in it, whichever are more, and records that have not left at the end count in `p99_latency_s` with
the latency of the last interval, which is no more than what they will have waited.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.core.stream import Bools, Floats, Ints
from dovetail.evaluation.metric import Metric
from dovetail.records.stream import HOUR_S, StreamRun

TAIL = 0.99

METRICS: dict[str, Metric] = {
    "reward": Metric(
        "reward",
        "",
        True,
        "mean over jobs and intervals of -w × latency (in SLOs, 10 at most) + (1 - w) × utilisation",
        "signed",
    ),
    "latency_s": Metric(
        "latency", "s", False, "mean time from the arrival of a record to its delivery, over all records"
    ),
    "p99_latency_s": Metric("p99 latency", "s", False, "99 of 100 records are delivered within this time"),
    "slo_violations": Metric(
        "above SLO", "", False, "share of the intervals whose latency is above the job's SLO", "percent"
    ),
    "utilisation": Metric(
        "utilisation", "", True, "share of their time that instances are busy, by operator", "percent"
    ),
    "instance_hours": Metric("instance-hours", "", False, "instances of all operators, summed over time"),
    "rescales": Metric("rescales", "", False, "how often jobs were stopped to change their parallelism"),
    "down_s": Metric("down", "s", False, "time that jobs stood still, of all together"),
}


def stream_metrics(
    *,
    interval_s: float,
    slo_s: Floats,  # (J,)
    latency_s: Floats,  # (I, J)
    utilisation: Floats,  # (I, J)
    reward: Floats,  # (I, J)
    arrived: Floats,  # (I, J)
    delivered: Floats,  # (I, J)
    lag: Floats,  # (I, J) at the end
    down_s: Floats,  # (I, J)
    rescaled: Bools,  # (I, J)
    parallelism: Ints,  # (I, O)
    delay_from_s: Floats,  # (H,) classes of delays
    delay_to_s: Floats,  # (H,)
    delay_records: Floats,  # (H,) records in each
) -> dict[str, float]:
    """All metrics by name, in the order of `METRICS`."""
    if not reward.size:
        raise RecordError("no interval after the first decision, so there is nothing to measure")
    weight = np.maximum(arrived, delivered)
    total = float(weight.sum())
    return {
        "reward": float(reward.mean()),
        "latency_s": float((latency_s * weight).sum() / total) if total > 0 else float(latency_s.mean()),
        "p99_latency_s": _quantile(
            np.concatenate((delay_from_s, latency_s[-1])),
            np.concatenate((delay_to_s, latency_s[-1])),
            np.concatenate((delay_records, lag[-1])),
            TAIL,
        ),
        "slo_violations": float((latency_s > slo_s).mean()),
        "utilisation": float(utilisation.mean()),
        "instance_hours": float(parallelism.sum()) * interval_s / HOUR_S,
        "rescales": float(rescaled.sum()),
        "down_s": float(down_s.sum()),
    }


def run_metrics(run: StreamRun, job: int | None = None) -> dict[str, float]:
    """The metrics of a recorded run, or of one of its jobs."""
    jobs = slice(None) if job is None else slice(job, job + 1)
    operators = slice(None) if job is None else run.operators_of(job)
    delays = slice(None) if job is None else run.delays.job == job
    columns = ("latency_s", "utilisation", "reward", "arrived", "delivered", "lag", "down_s")
    return stream_metrics(
        interval_s=run.interval_s,
        slo_s=run.jobs.slo_s[jobs],
        rescaled=run.intervals.rescaled.reshape(-1, len(run.jobs))[:, jobs],
        parallelism=run.parallelism[:, operators],
        delay_from_s=run.delays.from_s[delays],
        delay_to_s=run.delays.to_s[delays],
        delay_records=run.delays.records[delays],
        **{name: run.of_jobs(name)[:, jobs] for name in columns},
    )


def _quantile(low: Floats, high: Floats, weight: Floats, share: float) -> float:
    """What so much of the weight does not exceed, even within a class from low to high; nan without any weight."""
    order = np.argsort(high, kind="stable")
    passed = np.cumsum(weight[order])
    if not passed.size or passed[-1] <= 0:
        return float("nan")
    at = int(np.searchsorted(passed, share * passed[-1], side="left"))
    own = order[at]
    inside = 1.0 - (passed[at] - share * passed[-1]) / weight[own]
    return float(low[own] + inside * (high[own] - low[own]))
