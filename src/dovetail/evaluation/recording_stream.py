"""From the result of a stream run to its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.core.stream import Floats
from dovetail.records.run import run_name
from dovetail.records.stream import (
    StreamDecisionRows,
    StreamDelayRows,
    StreamEdgeRows,
    StreamIntervalRows,
    StreamJobRows,
    StreamOperatorIntervalRows,
    StreamOperatorRows,
    StreamRun,
    StreamSnapshotRows,
)
from dovetail.sim.stream import StreamResult

_OF_JOBS = ("latency_s", "utilisation", "reward", "arrived", "delivered", "lag", "down_s", "rescaled")
_OF_OPERATORS = ("parallelism", "busy", "blocked", "rate", "queued")


def record_stream_run(
    result: StreamResult, scheduler: str, seed: int, params: Mapping[str, Any] | None = None
) -> StreamRun:
    """The record of a run that was simulated with `record=True`.

    `params` is what differs from the scheduler's defaults.
    """
    workload, options = result.workload, result.options
    intervals, jobs, operators = len(result.start_s), workload.num_jobs, workload.num_operators
    state_mb = np.bincount(workload.op_job, workload.op_state_mb, minlength=jobs)
    return StreamRun(
        run=run_name(scheduler, seed, params),
        scheduler=scheduler,
        seed=seed,
        params=dict(params or {}),
        interval_s=options.interval_s,
        snapshot_s=options.snapshot_s,
        slots=workload.slots,
        jobs=StreamJobRows(
            name=workload.job_name,
            slo_s=workload.job_slo_s,
            restart_s=workload.job_restart_s + state_mb / options.restore_mb_s,
            checkpoint_s=workload.job_checkpoint_s,
        ),
        operators=StreamOperatorRows(
            name=workload.op_name,
            job=workload.op_job,
            service_s=workload.op_service_s,
            gain=workload.gain,
            skew=workload.op_skew,
            state_mb=workload.op_state_mb,
            most=workload.op_max,
        ),
        edges=StreamEdgeRows(origin=workload.edge_from, target=workload.edge_to),
        intervals=StreamIntervalRows(
            interval=np.repeat(np.arange(intervals), jobs),
            job=np.tile(np.arange(jobs), intervals),
            start_s=np.repeat(result.start_s, jobs),
            **{name: getattr(result, name).ravel() for name in _OF_JOBS},
        ),
        operator_intervals=StreamOperatorIntervalRows(
            interval=np.repeat(np.arange(intervals), operators),
            operator=np.tile(np.arange(operators), intervals),
            **{name: getattr(result, name).ravel() for name in _OF_OPERATORS},
        ),
        decisions=_decisions(result),
        snapshots=_snapshots(result),
        delays=_delays(result.delay_edges_s, result.delay_weight),
    )


def _delays(edges_s: Floats, weight: Floats) -> StreamDelayRows:
    """Classes in which there is something."""
    job, place = np.nonzero(weight)
    return StreamDelayRows(job=job, from_s=edges_s[place], to_s=edges_s[place + 1], records=weight[job, place])


def _decisions(result: StreamResult) -> StreamDecisionRows:
    decided = list(zip(*result.decision_rows, strict=True)) or [()] * len(StreamDecisionRows.SCHEMA)
    columns: dict[str, Any] = {
        name: np.array(column, dtype=np.float64 if name == "demand" else np.int64)
        for name, column in zip(StreamDecisionRows.SCHEMA, decided, strict=True)
    }
    return StreamDecisionRows(**columns)


def _snapshots(result: StreamResult) -> StreamSnapshotRows:
    seen, jobs = result.snapshots, result.workload.num_jobs
    assert seen is not None, "only a world with record=True keeps its snapshots"
    count = len(seen.job_rate)
    return StreamSnapshotRows(
        end_s=np.repeat((1 + np.arange(count)) * result.options.snapshot_s, jobs),
        job=np.tile(np.arange(jobs), count),
        rate=seen.job_rate.ravel(),
        latency_s=seen.job_latency_s.ravel(),
        lag=seen.job_lag.ravel(),
        down_share=seen.job_down_share.ravel(),
    )
