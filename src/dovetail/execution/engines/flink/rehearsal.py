"""One decision about a made-up job, so that what has to be compiled is compiled before a real job waits for it."""

from __future__ import annotations

import numpy as np

from dovetail.core.stream import StreamInfo, StreamView
from dovetail.execution.engines.flink.controller import StreamScheduler

OPERATORS, ROWS = 3, 4


def rehearse(scheduler: StreamScheduler) -> None:
    """The scheduler remembers it, so it should be one of its kind that is not used otherwise."""
    scheduler.reset(_info(), np.random.default_rng(0))
    scheduler.decide(_view())


def _info() -> StreamInfo:
    return StreamInfo(
        operator_name=("source", "map", "sink"),
        operator_job=np.zeros(OPERATORS, dtype=np.int64),
        operator_max=np.full(OPERATORS, 8, dtype=np.int64),
        edge_from=np.array([0, 1]),
        edge_to=np.array([1, 2]),
        job_name=("rehearsed",),
        job_slo_s=np.array([5.0]),
        job_restart_s=np.array([1.0]),
        slots=8 * OPERATORS,
        interval_s=60.0,
        snapshot_s=10.0,
        history=60,
        weight=0.7,
    )


def _view() -> StreamView:
    of_operators, of_jobs = np.full((ROWS, OPERATORS), 10.0), np.full((ROWS, 1), 10.0)
    arrays = {
        "parallelism": np.ones(OPERATORS, dtype=np.int64),
        "job_down": np.zeros(1, dtype=np.bool_),
        "job_rescaled_s": np.full(1, -np.inf),
        "op_input_rate": of_operators,
        "op_rate": of_operators,
        "op_busy": 0.05 * of_operators,
        "op_blocked": 0.0 * of_operators,
        "op_queued": of_operators,
        "op_latency_s": of_operators,
        "op_parallelism": np.ones((ROWS, OPERATORS), dtype=np.int64),
        "job_rate": of_jobs,
        "job_latency_s": of_jobs,
        "job_lag": of_jobs,
        "job_down_share": 0.0 * of_jobs,
    }
    for array in arrays.values():
        array.flags.writeable = False
    return StreamView(time_s=10.0 * ROWS, clock_s=0.0, **arrays)
