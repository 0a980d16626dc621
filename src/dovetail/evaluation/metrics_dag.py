"""What a run of the dag family is judged by.  Less is better, but for `utilisation` and `fairness`."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import RecordError
from dovetail.evaluation.metric import Metric
from dovetail.records.dag import DagRun

METRICS: dict[str, Metric] = {
    "avg_jct_s": Metric("average JCT", "s", False, "mean time from a job's arrival to its completion"),
    "p50_jct_s": Metric("p50 JCT", "s", False, "half of the jobs complete within this time"),
    "p95_jct_s": Metric("p95 JCT", "s", False, "95 of 100 jobs complete within this time"),
    "makespan_s": Metric("makespan", "s", False, "from the first arrival to the last completion"),
    "utilisation": Metric("utilisation", "", True, "share of the executors' time spent on tasks", "percent"),
    "slowdown": Metric(
        "slowdown", "×", False, "mean of JCT over the least time the job takes alone, by mean durations", "ratio"
    ),
    "fairness": Metric(
        "fairness", "", True, "Jain's index of the slowdowns: 1 when all jobs are slowed down alike", "ratio"
    ),
    "weighted_jct_s": Metric("weighted JCT", "s", False, "mean JCT, each job counted by its weight"),
    "late_s": Metric("lateness", "s", False, "mean time past the deadline, 0 for jobs in time"),
}


def dag_metrics(
    *,
    arrival_s: Floats,  # (J,)
    finish_s: Floats,  # (J,)
    ideal_s: Floats,  # (J,) least time alone on the cluster, by mean durations
    weight: Floats,  # (J,)
    deadline_s: Floats,  # (J,) absolute, inf = none
    busy_s: float,  # executor-seconds spent on tasks, lost ones included
    executors: int,
) -> dict[str, float]:
    """All metrics by name, in the order of `METRICS`."""
    if arrival_s.size == 0:
        raise RecordError("no jobs, so there is nothing to measure")
    unfinished = np.flatnonzero(~np.isfinite(finish_s))
    if unfinished.size:
        raise RecordError(
            f"{unfinished.size} of {finish_s.size} jobs did not finish (the first is job {unfinished[0]}); "
            f"completion times are only defined for complete runs"
        )
    jct_s = finish_s - arrival_s
    makespan_s = float(finish_s.max() - arrival_s.min())
    p50, p95 = np.percentile(jct_s, (50.0, 95.0))
    slowdown = jct_s / ideal_s
    return {
        "avg_jct_s": float(jct_s.mean()),
        "p50_jct_s": float(p50),
        "p95_jct_s": float(p95),
        "makespan_s": makespan_s,
        "utilisation": float(busy_s) / (executors * makespan_s) if makespan_s > 0 else 0.0,
        "slowdown": float(slowdown.mean()),
        "fairness": jain_index(slowdown),
        "weighted_jct_s": float(np.average(jct_s, weights=weight)),
        "late_s": float(np.maximum(finish_s - deadline_s, 0.0).mean()),
    }


def run_metrics(run: DagRun) -> dict[str, float]:
    """The metrics of a recorded run."""
    jobs = run.jobs
    return dag_metrics(
        arrival_s=jobs.arrival_s,
        finish_s=jobs.finish_s,
        ideal_s=jobs.ideal_s,
        weight=jobs.weight,
        deadline_s=jobs.deadline_s,
        busy_s=float((run.tasks.end_s - run.tasks.start_s).sum()),
        executors=run.executors,
    )


def jain_index(values: Floats) -> float:
    """Jain, Chiu and Hawe (1984): (sum x)^2 / (n sum x^2)."""
    square = float((values**2).sum())
    return float(values.sum()) ** 2 / (values.size * square) if square > 0 else 1.0
