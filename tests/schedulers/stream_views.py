"""Streaming jobs and views by hand, for the tests of their schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail.core.stream import StreamDecision, StreamInfo, StreamView


def info_of(*operators: str, edges: Sequence[tuple[int, int]] | None = None, **changes: Any) -> StreamInfo:
    """One job of these operators; a chain, unless edges are given."""
    count = len(operators)
    pairs = [(i, i + 1) for i in range(count - 1)] if edges is None else sorted(edges, key=lambda edge: edge[::-1])
    info = StreamInfo(
        operator_name=operators,
        operator_job=np.zeros(count, dtype=np.int64),
        operator_max=np.full(count, 10, dtype=np.int64),
        edge_from=np.array([edge[0] for edge in pairs], dtype=np.int64),
        edge_to=np.array([edge[1] for edge in pairs], dtype=np.int64),
        job_name=("job",),
        job_slo_s=np.array([2.0]),
        job_restart_s=np.array([10.0]),
        slots=200,
        interval_s=300.0,
        snapshot_s=60.0,
        history=60,
        weight=0.7,
    )
    return replace(info, **changes)


def view_of(info: StreamInfo, parallelism: Sequence[int], *, rows: int = 5, **measured: Any) -> StreamView:
    """The same in every snapshot, or (rows, ...) as given; what is not given is 0.  Like a world's, it is read-only."""
    operators, jobs = len(info.operator_name), len(info.job_name)
    now = np.array(parallelism, dtype=np.int64)
    columns = {
        "op_input_rate": operators,
        "op_rate": operators,
        "op_busy": operators,
        "op_blocked": operators,
        "op_queued": operators,
        "op_latency_s": operators,
        "op_parallelism": operators,
        "job_rate": jobs,
        "job_latency_s": jobs,
        "job_lag": jobs,
        "job_down_share": jobs,
    }
    assert measured.keys() <= columns.keys() | {"job_down"}, measured.keys()
    parts: dict[str, Any] = {}
    for name, width in columns.items():
        value = measured.get(name, now if name == "op_parallelism" else 0.0)
        kind = np.int64 if name == "op_parallelism" else np.float64
        parts[name] = np.broadcast_to(np.asarray(value, dtype=kind), (rows, width)).copy()
    view = StreamView(
        time_s=3600.0,
        clock_s=0.0,
        parallelism=now,
        job_down=np.array(measured.get("job_down", [False] * jobs)),
        job_rescaled_s=np.full(jobs, -np.inf),
        **parts,
    )
    for part in view:
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
    return view


def decided(scheduler: Any, info: StreamInfo, view: StreamView) -> dict[int, int]:
    """Operator -> its new parallelism; only what changes."""
    return {one.operator: one.parallelism for one in decisions_of(scheduler, info, view)}


def decisions_of(scheduler: Any, info: StreamInfo, view: StreamView) -> list[StreamDecision]:
    scheduler.reset(info, np.random.default_rng(0))
    found = list(scheduler.decide(view))
    assert all(one.parallelism != view.parallelism[one.operator] for one in found), "named, but not changed"
    return found
