"""Small streaming jobs to test with, and schedulers that do nothing or anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.stream import StreamDecision, StreamInfo, StreamView
from dovetail.workloads.stream import StreamWorkload


def chain(
    service_s: Sequence[float],
    rate: Sequence[float] | float,
    *,
    parallelism: Sequence[int] | int = 1,
    minutes: int = 60,
    **changes: Any,
) -> StreamWorkload:
    """A job of operators one after the other; other columns by name, as a number for all or one for each."""
    size = len(service_s)
    rates = np.full((1, minutes), rate) if isinstance(rate, int | float) else np.array([rate], float)
    floats = {
        "op_selectivity": 1.0,
        "op_skew": 0.0,
        "op_variability": 1.0,
        "op_buffer": 1e9,
        "op_state_mb": 0.0,
        **{name: changes.pop(name) for name in list(changes) if name.startswith("op_") and name != "op_max"},
    }
    columns = {name: np.broadcast_to(np.asarray(value, float), size).copy() for name, value in floats.items()}
    defaults: dict[str, Any] = {
        "job_name": ("job",),
        "job_slo_s": np.array([1.0]),
        "job_restart_s": np.array([5.0]),
        "job_checkpoint_s": np.array([10.0]),
        "op_name": tuple(f"op-{i}" for i in range(size)),
        "op_job": np.zeros(size, np.int64),
        "op_source": np.eye(1, size)[0],
        "op_max": np.full(size, 100),
        "edge_from": np.arange(size - 1),
        "edge_to": np.arange(1, size),
        "edge_share": np.ones(size - 1),
        "bin_s": 60.0,
        "clock_s": 0.0,
        "slots": 100 * size,
    }
    return StreamWorkload(
        op_service_s=np.array(service_s, float),
        op_start=np.broadcast_to(np.asarray(parallelism, np.int64), size).copy(),
        rate=rates,
        **{**defaults, **columns, **changes},
    )


def random_workload(rng: np.random.Generator, bins: int = 8) -> StreamWorkload:
    """Some jobs of some operators: joins, skew, filters, small buffers, rates that come and go."""
    jobs = int(rng.integers(1, 4))
    sizes = rng.integers(1, 6, size=jobs)
    size, bin_s = int(sizes.sum()), float(rng.choice([10.0, 20.0]))
    op_job = np.repeat(np.arange(jobs), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    edges = [
        (int(parent), i)
        for i in range(size)
        for parent in range(first[i], i)
        if (parent == i - 1 and rng.random() < 0.8) or rng.random() < 0.25
    ]
    edge_from, edge_to = np.array([e[0] for e in edges], np.int64), np.array([e[1] for e in edges], np.int64)
    fed = np.isin(np.arange(size), edge_to)
    level = 10.0 ** rng.uniform(-1, 3.5, size=jobs)
    rate = level[:, None] * rng.lognormal(0.0, 0.7, size=(jobs, bins)) * (rng.random((jobs, bins)) < 0.85)
    start = rng.integers(1, 5, size=size)
    load = rng.uniform(0.1, 1.3, size=size)
    return StreamWorkload(
        job_name=tuple(f"job-{j}" for j in range(jobs)),
        job_slo_s=rng.uniform(0.1, 5.0, size=jobs),
        job_restart_s=rng.choice([0.0, 0.4, 2.5, 33.0], size=jobs),
        job_checkpoint_s=rng.choice([0.7, 5.0, 30.0], size=jobs),
        op_name=tuple(f"op-{i}" for i in range(size)),
        op_job=op_job,
        op_service_s=load * start / level[op_job],
        op_selectivity=rng.choice([0.0, 0.2, 1.0, 1.0, 3.0], size=size),
        op_source=np.where(fed, 0.0, rng.choice([0.0, 0.5, 1.0, 2.0], size=size, p=[0.1, 0.1, 0.7, 0.1])),
        op_skew=rng.choice([0.0, 0.0, 0.3, 1.0], size=size),
        op_variability=rng.choice([0.0, 0.5, 1.0, 1.0], size=size),
        op_buffer=10.0 ** rng.uniform(-1, 4, size=size),
        op_state_mb=rng.choice([0.0, 100.0], size=size),
        op_max=rng.integers(4, 9, size=size),
        op_start=start,
        edge_from=edge_from,
        edge_to=edge_to,
        edge_share=rng.choice([0.3, 1.0], size=len(edges)),
        bin_s=bin_s,
        rate=rate,
        clock_s=float(rng.uniform(0, 600_000)),
        slots=int(start.sum() + rng.integers(0, 6)),
    )


class Nothing:
    """Lets everything be."""

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None: ...

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return ()


class Anything:
    """Changes some operators, now and then, and names others as they are."""

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info, self._rng = info, rng

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        rng, total = self._rng, int(view.parallelism.sum())
        found = []
        for i in rng.permutation(len(view.parallelism)).tolist():
            now = int(view.parallelism[i])
            after = int(rng.integers(1, self._info.operator_max[i] + 1)) if rng.random() < 0.3 else now
            if total + after - now <= self._info.slots and rng.random() < 0.7:
                found.append(StreamDecision(i, after))
                total += after - now
        return found
