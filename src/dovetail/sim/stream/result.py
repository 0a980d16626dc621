"""What a stream run came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.stream import Bools, Floats, Ints, StreamView, reward
from dovetail.sim.kernels import stream_state as layout
from dovetail.sim.kernels.stream_state import StreamMemory
from dovetail.sim.stream.memory import tables
from dovetail.sim.stream.options import StreamOptions
from dovetail.workloads.stream import StreamWorkload


class DecisionRow(NamedTuple):
    """An operator whose parallelism changed."""

    interval: int  # at the start of this one
    operator: int
    before: int
    after: int
    reason: int
    demand: float


@dataclass(frozen=True, eq=False)
class StreamResult:
    """The I intervals that have ended, counted from the first decision on: O operators of J jobs."""

    workload: StreamWorkload
    options: StreamOptions
    start_s: Floats  # (I,)
    latency_s: Floats  # (I, J)
    utilisation: Floats  # (I, J)
    reward: Floats  # (I, J)
    delivered: Floats  # (I, J) records
    arrived: Floats  # (I, J) records
    lag: Floats  # (I, J) records, at the end
    down_s: Floats  # (I, J)
    rescaled: Bools  # (I, J) at the start
    parallelism: Ints  # (I, O)
    busy: Floats  # (I, O)
    blocked: Floats  # (I, O)
    rate: Floats  # (I, O) records a second processed
    queued: Floats  # (I, O) at the end
    delay_edges_s: Floats  # (B + 1,)
    delay_weight: Floats  # (J, B) records delivered after a delay between two edges
    decisions: int  # operators changed
    decision_rows: tuple[DecisionRow, ...]
    snapshots: StreamView | None  # all of them, from the very start; only if recorded

    @classmethod
    def of(
        cls,
        workload: StreamWorkload,
        options: StreamOptions,
        memory: StreamMemory,
        decision_rows: Sequence[DecisionRow],
        snapshots: StreamView | None,
    ) -> StreamResult:
        """Read off a world."""
        ended = int(memory.clock[layout.STEP] // memory.clock[layout.INTERVAL_STEPS])
        count = max(0, ended - 1)
        ops = [table[:count].copy() for table in tables(memory.interval_ops, layout.SPAN_OPS)]
        jobs = [table[:count].copy() for table in tables(memory.interval_jobs, layout.SPAN_JOBS)]
        latency_s, utilisation = jobs[layout.SPAN_LATENCY], jobs[layout.SPAN_UTILISATION]
        return cls(
            workload=workload,
            options=options,
            start_s=np.arange(1, count + 1) * np.float64(options.interval_s),
            latency_s=latency_s,
            utilisation=utilisation,
            reward=reward(latency_s, workload.job_slo_s, utilisation, options.weight),
            delivered=jobs[layout.SPAN_DELIVERED],
            arrived=jobs[layout.SPAN_ARRIVED],
            lag=jobs[layout.SPAN_LAG],
            down_s=jobs[layout.SPAN_DOWN],
            rescaled=jobs[layout.SPAN_RESCALED] > 0.0,
            parallelism=ops[layout.SPAN_PARALLELISM].astype(np.int64),
            busy=ops[layout.SPAN_BUSY],
            blocked=ops[layout.SPAN_BLOCKED],
            rate=ops[layout.SPAN_RATE],
            queued=ops[layout.SPAN_QUEUED],
            delay_edges_s=delay_edges_s(),
            delay_weight=memory.delays.copy(),
            decisions=len(decision_rows),
            decision_rows=tuple(decision_rows),
            snapshots=snapshots,
        )


def delay_edges_s() -> Floats:
    """(B + 1,) 0, then bins of equal ratio; delays beyond the last are counted in the last bin."""
    powers = np.arange(layout.BINS_PER_DECADE * layout.DECADES + 1) / layout.BINS_PER_DECADE
    return np.concatenate([[0.0], layout.FIRST_DELAY_S * 10.0**powers])
