"""What the plain-Python stream world shows: snapshots and intervals, summed up from its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.stream import StreamView

if TYPE_CHECKING:
    from dovetail.testing.stream_reference import ReferenceStreamWorld


@dataclass(frozen=True)
class OperatorPart:
    """What an operator did in a step."""

    came: float
    done: float
    busy_s: float
    blocked_s: float
    queued: float  # at the end
    owned_s: float
    parallelism: int
    drain_s: float  # to process one record with all its instances


@dataclass(frozen=True)
class JobPart:
    """What a job did in a step."""

    came: float
    left: float
    delay_s: float  # of all that left
    lag: float  # at the end
    down_s: float
    oldest_s: float  # age of the oldest record waiting, at the end


@dataclass(frozen=True)
class Step:
    operators: list[OperatorPart]
    jobs: list[JobPart]


def latency_s(parts: Sequence[JobPart]) -> float:
    left = math.fsum(part.left for part in parts)
    return math.fsum(part.delay_s for part in parts) / left if left > 0 else parts[-1].oldest_s


def operator_latency_s(parts: Sequence[OperatorPart], step_s: float) -> float:
    done = math.fsum(part.done for part in parts)
    if done > 0:
        return math.fsum(part.queued for part in parts) * step_s / done
    return parts[-1].queued * parts[-1].drain_s


def busy(parts: Sequence[OperatorPart]) -> float:
    return math.fsum(part.busy_s for part in parts) / math.fsum(part.owned_s for part in parts)


def blocked(parts: Sequence[OperatorPart]) -> float:
    return math.fsum(part.blocked_s for part in parts) / math.fsum(part.owned_s for part in parts)


def table(entries: Sequence[Step], length: int, kind: str, measure: Callable[[Any], float]) -> Any:
    """`measure` of every operator or job over each `length` steps: (rows, columns)."""
    rows = []
    for first in range(0, len(entries) - length + 1, length):
        columns = zip(*(getattr(entry, kind) for entry in entries[first : first + length]), strict=True)
        rows.append([measure(parts) for parts in columns])
    return np.array(rows)


def build_view(world: ReferenceStreamWorld) -> StreamView:
    options, entries = world.options, world.entries
    length, span_s, step_s = round(options.snapshot_s / options.step_s), options.snapshot_s, options.step_s
    newest = len(entries) // length * length
    entries = entries[max(0, newest - options.history * length) : newest]

    def ops(measure: Callable[[Any], float]) -> Any:
        return table(entries, length, "operators", measure)

    def jobs(measure: Callable[[Any], float]) -> Any:
        return table(entries, length, "jobs", measure)

    view = StreamView(
        time_s=world.time_s,
        clock_s=(world.workload.clock_s + world.time_s) % 604_800,
        parallelism=np.array([operator.parallelism for operator in world.operators]),
        job_down=np.array([job.up_s > world.time_s + 1e-9 for job in world.jobs]),
        job_rescaled_s=np.array([job.rescaled_s for job in world.jobs]),
        op_input_rate=ops(lambda parts: math.fsum(part.came for part in parts) / span_s),
        op_rate=ops(lambda parts: math.fsum(part.done for part in parts) / span_s),
        op_busy=ops(busy),
        op_blocked=ops(blocked),
        op_queued=ops(lambda parts: parts[-1].queued),
        op_latency_s=ops(lambda parts: operator_latency_s(parts, step_s)),
        op_parallelism=ops(lambda parts: parts[-1].parallelism),
        job_rate=jobs(lambda parts: math.fsum(part.came for part in parts) / span_s),
        job_latency_s=jobs(latency_s),
        job_lag=jobs(lambda parts: parts[-1].lag),
        job_down_share=jobs(lambda parts: math.fsum(part.down_s for part in parts) / span_s),
    )
    for part in view:
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
    return view


def interval_tables(world: ReferenceStreamWorld) -> dict[str, Any]:
    """What results say of every interval but the first, by the same names."""
    options = world.options
    length = round(options.interval_s / options.step_s)
    entries = world.entries[length:]
    found = {
        "latency_s": table(entries, length, "jobs", latency_s),
        "delivered": table(entries, length, "jobs", lambda parts: math.fsum(part.left for part in parts)),
        "arrived": table(entries, length, "jobs", lambda parts: math.fsum(part.came for part in parts)),
        "lag": table(entries, length, "jobs", lambda parts: parts[-1].lag),
        "down_s": table(entries, length, "jobs", lambda parts: math.fsum(part.down_s for part in parts)),
        "parallelism": table(entries, length, "operators", lambda parts: parts[-1].parallelism),
        "busy": table(entries, length, "operators", busy),
        "blocked": table(entries, length, "operators", blocked),
        "queued": table(entries, length, "operators", lambda parts: parts[-1].queued),
    }
    done = table(entries, length, "operators", lambda parts: math.fsum(part.done for part in parts))
    found["rate"] = done / options.interval_s
    own = [world.workload.op_job == job for job in range(world.workload.num_jobs)]
    found["utilisation"] = np.stack([found["busy"][:, mask].mean(axis=1) for mask in own], axis=1)
    return found
