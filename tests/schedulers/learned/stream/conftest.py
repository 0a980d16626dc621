"""A small job set that needs no simulator."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.stream import StreamInfo, StreamView

EDGES = ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (5, 6))


def make_info(history: int = 12, edges=EDGES, operators: int = 7, jobs=(0, 0, 0, 0, 0, 1, 1)) -> StreamInfo:
    names = tuple(f"job-{job}" for job in range(max(jobs) + 1))
    return StreamInfo(
        operator_name=tuple(f"op-{k}" for k in range(operators)),
        operator_job=np.array(jobs),
        operator_max=np.full(operators, 10),
        edge_from=np.array([edge[0] for edge in edges], np.int64),
        edge_to=np.array([edge[1] for edge in edges], np.int64),
        job_name=names,
        job_slo_s=np.full(len(names), 2.0),
        job_restart_s=np.full(len(names), 1.0),
        slots=60,
        interval_s=300.0,
        snapshot_s=60.0,
        history=history,
        weight=0.7,
    )


def make_view(info: StreamInfo, rows: int, seed: int = 0) -> StreamView:
    """Measurements that could be: every operator has 2 instances and takes 10 ms for a record."""
    rng = np.random.default_rng(seed)
    count, jobs = len(info.operator_job), len(info.job_name)
    rate = rng.uniform(40.0, 120.0, (rows, jobs))
    of_op = rate[:, info.operator_job]
    shape = (rows, count)
    return StreamView(
        time_s=3600.0,
        clock_s=7200.0,
        parallelism=np.full(count, 2),
        job_down=np.zeros(jobs, bool),
        job_rescaled_s=np.full(jobs, -np.inf),
        op_input_rate=of_op,
        op_rate=of_op,
        op_busy=of_op * 0.01 / 2,
        op_blocked=np.zeros(shape),
        op_queued=rng.uniform(0.0, 5.0, shape),
        op_latency_s=rng.uniform(0.01, 0.1, shape),
        op_parallelism=np.full(shape, 2),
        job_rate=rate,
        job_latency_s=rng.uniform(0.1, 0.5, (rows, jobs)),
        job_lag=rng.uniform(1.0, 9.0, (rows, jobs)),
        job_down_share=np.zeros((rows, jobs)),
    )


@pytest.fixture
def info() -> StreamInfo:
    return make_info()
