"""What a run of the gpu family is judged by: how long jobs take from arrival to completion, and what they pay."""

from __future__ import annotations

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.core.gpu import Floats, Ints
from dovetail.evaluation.metric import Metric
from dovetail.records.gpu import GpuRun

METRICS: dict[str, Metric] = {
    "avg_jct_s": Metric("average JCT", "s", False, "mean time from a job's arrival to its completion"),
    "avg_fee_usd": Metric("average fee", "USD", False, "mean of what a job pays for its GPUs while it runs"),
    "avg_wait_s": Metric("average wait", "s", False, "mean time in which a job does not run, of its completion time"),
    "p95_jct_s": Metric("p95 JCT", "s", False, "95 of 100 jobs complete within this time"),
    "makespan_s": Metric("makespan", "s", False, "time of the last completion"),
    "gpu_utilisation": Metric("GPUs in use", "", True, "GPU-seconds held, of all until the last completion", "percent"),
    "relative_speed": Metric(
        "relative speed",
        "",
        True,
        "mean speed of jobs while they run, against alone on GPUs of the same types",
        "percent",
    ),
    "slowdown": Metric("slowdown", "×", False, "mean of JCT over the job's work at speed 1", "ratio"),
    "stops": Metric("stops", "", False, "how often jobs were stopped, or lost a machine, in all"),
}


def gpu_metrics(
    *,
    arrival_s: Floats,  # (J,)
    finish_s: Floats,  # (J,)
    running_s: Floats,  # (J,)
    work_s: Floats,  # (J,) at speed 1
    fee: Floats,  # (J,) USD
    stops: Ints,  # (J,)
    job_gpus: Floats,  # (J,) of all workers together
    work_run_s: Floats,  # (J,) integral of the speed while it ran
    alone_run_s: Floats,  # (J,) the same with nobody else there
    num_gpus: int,
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
    makespan_s = float(finish_s.max())
    room_s = num_gpus * makespan_s
    held_s = float((running_s * job_gpus).sum())
    return {
        "avg_jct_s": float(jct_s.mean()),
        "avg_fee_usd": float(fee.mean()),
        "avg_wait_s": float(np.maximum(jct_s - running_s, 0.0).mean()),
        "p95_jct_s": float(np.percentile(jct_s, 95.0)),
        "makespan_s": makespan_s,
        "gpu_utilisation": held_s / room_s if room_s > 0 else 0.0,
        "relative_speed": float((work_run_s / alone_run_s).mean()),
        "slowdown": float((jct_s / work_s).mean()),
        "stops": float(stops.sum()),
    }


def run_metrics(run: GpuRun) -> dict[str, float]:
    """The metrics of a recorded run."""
    jobs = run.jobs
    return gpu_metrics(
        arrival_s=jobs.arrival_s,
        finish_s=jobs.finish_s,
        running_s=jobs.running_s,
        work_s=jobs.work_s,
        fee=jobs.fee,
        stops=jobs.stops,
        job_gpus=jobs.all_gpus,
        work_run_s=jobs.work_run_s,
        alone_run_s=jobs.alone_run_s,
        num_gpus=run.num_gpus,
    )
