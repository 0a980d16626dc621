"""From two looks at a job to what was measured between them.

What a vertex did is what its counters grew by, over the time its subtasks lived meanwhile by the same counters.  A new
graph (after a rescale or a failure) begins them at 0: then they say what was done since, and the time before, in which
the job was up as well, is taken to have been the same; the time it stood still counts as idle.

What waits: at a source, the records it has not fetched, if it tells (`pendingRecords`); at others, bytes in the buffers
before them and behind those that feed them, over the bytes of a record.  What came is what was processed and by how
much the queue grew.  A source that does not tell is taken to have records waiting while it is held up: what came is
then its rate over the share of time in which it was not, three times that rate at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.stream import Bools, Floats, Ints
from dovetail.execution.engines.flink.latency import job_latency_s, operator_latency_s
from dovetail.execution.engines.flink.messages import Look
from dovetail.execution.engines.flink.metrics import Reading

LEAST_LIVED_S = 0.05  # of a subtask, for its counters to say anything
MOST_HELD = 2.0 / 3.0
GROWING = ("busy_s", "idle_s", "blocked_s", "records_in")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A row of a view; nan where nothing was ever measured."""

    end_s: float
    clock_s: float
    input_rate: Floats  # (O,)
    rate: Floats  # (O,)
    busy: Floats  # (O,)
    blocked: Floats  # (O,)
    queued: Floats  # (O,) at the end
    latency_s: Floats  # (O,)
    parallelism: Ints  # (O,) at the end
    missing: Bools  # (O,) without which nothing can be decided by true rates
    job_rate: float
    job_latency_s: float
    job_lag: float
    down_share: float
    by_markers: bool  # `job_latency_s` is from latency markers


def measure(before: Look, after: Look, down_s: float, last: Snapshot | None, latency: str = "auto") -> Snapshot:
    """`down_s`: how long it stood still between the looks; `last`: stands for what cannot be measured anew."""
    vertices, lasted_s = after.job.vertices, max(after.now_s - before.now_s, 1e-3)
    down_share = min(max(down_s / lasted_s, 0.0), 1.0)
    is_new = before.job.created_ms != after.job.created_ms
    columns: dict[str, Any] = {name: np.full(len(vertices), math.nan) for name in ("rate", "busy", "blocked")}
    missing = np.zeros(len(vertices), dtype=np.bool_)
    for number, vertex in enumerate(vertices):
        new, old = after.readings.get(vertex.vertex_id, Reading()), before.readings.get(vertex.vertex_id, Reading())
        missing[number] = bool(new.missing)
        begins = is_new or not new.lived_s >= old.lived_s or not new.records_in >= old.records_in
        done = new if begins else _grown(old, new)
        done = done._replace(**{name: max(getattr(done, name), 0.0) for name in GROWING})  # nan stays
        lived_s = done.lived_s / max(vertex.parallelism, 1)
        if lived_s > LEAST_LIVED_S:
            columns["rate"][number] = done.records_in / lived_s
            columns["busy"][number] = done.busy_s / done.lived_s
            columns["blocked"][number] = done.blocked_s / done.lived_s
    up_share = 1.0 - down_share
    for name, column in columns.items():
        old_column = np.full(len(vertices), math.nan) if last is None else _while_up(last, name)
        columns[name] = np.where(np.isnan(column), old_column, column) * up_share
    columns["blocked"] = np.minimum(columns["blocked"], 1.0 - np.minimum(columns["busy"], 1.0))
    parallelism = np.array([vertex.parallelism for vertex in vertices], dtype=np.int64)
    queued = _queued(after, columns["busy"] * parallelism)
    queued_before = _queued(before, columns["busy"] * parallelism)
    if not before.readings and last is not None:  # it was down
        queued_before = last.queued
    came = _came(after, columns["rate"], columns["blocked"], (queued - queued_before) / lasted_s)
    waited = operator_latency_s(columns["rate"], columns["busy"] * parallelism, queued, queued_before, last)
    sources = sorted(after.job.sources)
    job_rate = float(np.nansum(came[sources]))
    late_s, by_markers = job_latency_s(after, waited, latency)
    if up_share <= 0.0 and last is not None:  # what waits grows older
        late_s = last.job_latency_s + lasted_s
    return Snapshot(
        end_s=after.now_s,
        clock_s=after.clock_s,
        input_rate=came,
        **columns,
        queued=queued,
        latency_s=waited,
        parallelism=parallelism,
        missing=missing,
        job_rate=job_rate,
        job_latency_s=late_s,
        job_lag=_lag(columns["rate"], queued, sources),
        down_share=down_share,
        by_markers=by_markers,
    )


def _grown(old: Reading, new: Reading) -> Reading:
    return Reading(*(after - before for before, after in zip(old, new, strict=True)))


def _while_up(last: Snapshot, name: str) -> Floats:
    up_share = 1.0 - last.down_share
    column: Floats = getattr(last, name)
    return column / up_share if up_share > 0.01 else column


def _queued(look: Look, working: Floats) -> Floats:
    """Waiting at each operator, or in it."""
    job = look.job
    found = np.where(np.isnan(working), 0.0, working)
    readings = [look.readings.get(vertex.vertex_id, Reading()) for vertex in job.vertices]
    children = np.bincount([edge.origin for edge in job.edges], minlength=len(readings))
    for number, reading in enumerate(readings):
        if number in job.sources:
            found[number] += _or(reading.pending, 0.0)
            continue
        behind = [
            _or(readings[edge.origin].output_queue_bytes, 0.0) / children[edge.origin]
            for edge in job.edges
            if edge.target == number
        ]
        record_bytes = reading.bytes_in / reading.records_in if reading.records_in > 0.0 else math.nan
        if record_bytes > 0.0:
            found[number] += (_or(reading.input_queue_bytes, 0.0) + sum(behind)) / record_bytes
    return found


def _came(look: Look, rate: Floats, blocked: Floats, growth: Floats) -> Floats:
    came = np.maximum(rate + growth, 0.0)
    for number in look.job.sources:
        if math.isnan(look.readings.get(look.job.vertices[number].vertex_id, Reading()).pending):
            came[number] = rate[number] / (1.0 - min(_or(float(blocked[number]), 0.0), MOST_HELD))
    return came


def _lag(rate: Floats, queued: Floats, sources: list[int]) -> float:
    """Records of the job that are under way: those at an operator, over how many of its own a record becomes."""
    entered = float(np.nansum(rate[sources]))
    if not entered > 0.0:
        return float(queued[sources].sum())
    gain = np.where(np.isnan(rate), 0.0, rate) / entered
    return float(np.divide(queued, gain, out=np.zeros(len(queued)), where=gain > 0.01).sum())


def _or(value: float, other: float) -> float:
    return other if math.isnan(value) else value
