"""The job as schedulers see it: what they are told at the start, and the view of the last snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.stream import Ints, StreamInfo, StreamView
from dovetail.execution.engines.flink.job import FlinkJob
from dovetail.execution.engines.flink.messages import Bound, FlinkOptions, Look
from dovetail.execution.engines.flink.snapshot import Snapshot

RESTART_S = 1.0  # thought of a rescale before one was measured


def limits(job: FlinkJob, bounds: Sequence[Bound]) -> tuple[Ints, Ints]:
    """(O,), (O,) fewest and most instances; the parallelism that Flink can give at most is never exceeded."""
    least = np.ones(len(job.vertices), dtype=np.int64)
    most = np.array([vertex.max_parallelism for vertex in job.vertices], dtype=np.int64)
    for bound in sorted(bounds, key=lambda one: bool(one.name)):  # those for all first
        for number in _named(job, bound.name):
            most_there = job.vertices[number].max_parallelism
            if bound.least > most_there:
                name = job.vertices[number].name
                raise ConfigError(
                    f"{name}: at least {bound.least} instances asked for; Flink gives it {most_there} at most "
                    "(its maximum parallelism, or the number of key groups)"
                )
            least[number] = bound.least
            most[number] = most_there if bound.most is None else min(bound.most, most_there)
    return least, most


def _named(job: FlinkJob, name: str) -> list[int]:
    if not name:
        return list(range(len(job.vertices)))
    exact = [number for number, one in enumerate(job.vertices) if name in (one.name, one.vertex_id)]
    found = exact or [number for number, one in enumerate(job.vertices) if name in one.name]
    if not found:
        raise UnknownName("operator", name, [vertex.name for vertex in job.vertices])
    if len(found) > 1:
        names = ", ".join(job.vertices[number].name for number in found)
        raise ConfigError(f"operator {name!r} is in the names of {len(found)}: {names}; expected the name of one")
    return found


def slots_for(look: Look) -> int:
    """That this job may use: those it has and those that are free; each group of operators that share needs its own."""
    return min(look.slots, look.free_slots + sum(group_slots(look.job).values()))


def group_slots(job: FlinkJob) -> dict[str, int]:
    """Slots in use, by slot sharing group: as many as the widest of its operators has instances."""
    found: dict[str, int] = {}
    for vertex in job.vertices:
        found[vertex.slot_group] = max(found.get(vertex.slot_group, 0), vertex.parallelism)
    return found


def widest(look: Look) -> Ints:
    """(O,) instances for which there are slots, if the other groups keep what they have."""
    groups, slots = group_slots(look.job), slots_for(look)
    return np.array(
        [max(1, slots - sum(groups.values()) + groups[vertex.slot_group]) for vertex in look.job.vertices],
        dtype=np.int64,
    )


def info_of(look: Look, least: Ints, most: Ints, options: FlinkOptions, restart_s: float) -> StreamInfo:
    """Operators may have as many as there are slots for; with sharing, that alone is no limit to their sum."""
    job = look.job
    operator_max = np.maximum(np.minimum(most, widest(look)), 1)
    count = len(job.vertices)
    return StreamInfo(
        operator_name=unique_names(job),
        operator_job=np.zeros(count, dtype=np.int64),
        operator_max=operator_max,
        edge_from=np.array([edge.origin for edge in job.edges], dtype=np.int64),
        edge_to=np.array([edge.target for edge in job.edges], dtype=np.int64),
        job_name=(job.name,),
        job_slo_s=np.array([options.slo_s]),
        job_restart_s=np.array([restart_s]),
        slots=int(operator_max.sum()) if options.instances is None else max(options.instances, count),
        interval_s=options.interval_s,
        snapshot_s=options.snapshot_s,
        history=options.history,
        weight=options.weight,
    )


def unique_names(job: FlinkJob) -> tuple[str, ...]:
    """Flink allows two operators of a name."""
    names: list[str] = []
    for vertex in job.vertices:
        again = sum(one == vertex.name or one.startswith(f"{vertex.name} #") for one in names)
        names.append(f"{vertex.name} #{again + 1}" if again else vertex.name)
    return tuple(names)


def view_of(
    rows: Sequence[Snapshot], parallelism: Ints, origin_s: float, is_down: bool, rescaled_s: float
) -> StreamView:
    """Of the last rows, the newest last; what was never measured is 0."""
    newest = rows[-1]
    arrays: dict[str, Any] = {
        "parallelism": parallelism,
        "job_down": np.array([is_down]),
        "job_rescaled_s": np.array([rescaled_s - origin_s]),
        "op_input_rate": _stack(row.input_rate for row in rows),
        "op_rate": _stack(row.rate for row in rows),
        "op_busy": np.clip(_stack(row.busy for row in rows), 0.0, 1.0),
        "op_blocked": np.clip(_stack(row.blocked for row in rows), 0.0, 1.0),
        "op_queued": _stack(row.queued for row in rows),
        "op_latency_s": _stack(row.latency_s for row in rows),
        "op_parallelism": np.stack([row.parallelism for row in rows]),
        "job_rate": np.array([[row.job_rate] for row in rows]),
        "job_latency_s": np.array([[row.job_latency_s] for row in rows]),
        "job_lag": np.array([[row.job_lag] for row in rows]),
        "job_down_share": np.array([[row.down_share] for row in rows]),
    }
    for array in arrays.values():
        array.flags.writeable = False
    return StreamView(time_s=newest.end_s - origin_s, clock_s=newest.clock_s, **arrays)


def _stack(columns: Any) -> Any:
    return np.nan_to_num(np.stack(list(columns)), nan=0.0)
