"""A run of the stream family as events of a Chrome trace.

A thread for each operator with a slice for every stretch of intervals in which its parallelism stays the same, and
counters of its instances, of how busy and blocked they are, and of the records that wait at it; a thread for each job
with a slice for every time it was late, and counters of what was measured in its snapshots; a thread with an instant
for each decision and its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dovetail.core.stream import Bools, Floats, Ints
from dovetail.records.perfetto import Event, as_json, meta, ticks
from dovetail.records.stream import StreamRun, instance_words, reason_text


class Stretch(NamedTuple):
    """Intervals in which an operator has the same parallelism, or in which a job is late."""

    first: int
    last: int
    value: int


def stretches(values: Ints | Bools) -> list[Stretch]:
    """Of one row of intervals, from its value in each."""
    edges = [0, *(np.flatnonzero(np.diff(values.astype(np.int64))) + 1).tolist(), len(values)]
    return [Stretch(a, b - 1, int(values[a])) for a, b in pairwise(edges) if b > a]


def operator_label(run: StreamRun, operator: int) -> str:
    """`map`, with its job where there are several."""
    name = run.operators.name[operator]
    return name if len(run.jobs) == 1 else f"{run.job_names[int(run.operators.job[operator])]} · {name}"


def run_events(label: str, run: StreamRun, process: int, first_thread: int) -> Iterator[str]:
    """All events of one run as JSON.  Threads: decisions, then the jobs, then the operators."""
    yield from map(as_json, _names(label, run, process, first_thread))
    yield from map(as_json, _decisions(run, process, first_thread))
    edges = ticks(np.append(run.interval_start_s, run.end_s)).tolist()
    late = run.of_jobs("latency_s") > run.jobs.slo_s
    for job in range(len(run.jobs)):
        where = {"pid": process, "tid": first_thread + 1 + job}
        for stretch in stretches(late[:, job]):
            if stretch.value:
                yield as_json(_late(run, job, stretch) | where | _span(edges, stretch))
    parallelism, busy = run.parallelism, run.of_operators("busy")
    for operator in range(len(run.operators)):
        where = {"pid": process, "tid": first_thread + 1 + len(run.jobs) + operator}
        for stretch in stretches(parallelism[:, operator]):
            mean = float(busy[stretch.first : stretch.last + 1, operator].mean())
            yield as_json(_slice(run, operator, stretch, mean) | where | _span(edges, stretch))
    yield from map(as_json, _operator_counters(run, process, edges))
    yield from map(as_json, _job_counters(run, process))


def _names(label: str, run: StreamRun, process: int, first_thread: int) -> Iterator[Event]:
    yield meta("process_name", process, 0, name=f"{label}, seed {run.seed}")
    yield meta("process_sort_index", process, 0, sort_index=process)
    jobs = (f"job {job} ({name})" for job, name in enumerate(run.job_names))
    operators = (operator_label(run, operator) for operator in range(len(run.operators)))
    for place, name in enumerate(["decisions", *jobs, *operators]):
        yield meta("thread_name", process, first_thread + place, name=name)
        yield meta("thread_sort_index", process, first_thread + place, sort_index=place)


def _span(edges: list[int], stretch: Stretch) -> Event:
    start, end = edges[stretch.first], edges[stretch.last + 1]
    return {"ts": start, "dur": end - start}


def _late(run: StreamRun, job: int, stretch: Stretch) -> Event:
    rows = slice(stretch.first, stretch.last + 1)
    return {
        "ph": "X",
        "name": "late",
        "cat": "job",
        "args": {
            "job": job,
            "most_latency_s": float(run.of_jobs("latency_s")[rows, job].max()),
            "slo_s": float(run.jobs.slo_s[job]),
            "down_s": float(run.of_jobs("down_s")[rows, job].sum()),
            "lag_at_end": float(run.of_jobs("lag")[stretch.last, job]),
        },
    }


def _slice(run: StreamRun, operator: int, stretch: Stretch, busy: float) -> Event:
    return {
        "ph": "X",
        "name": instance_words(stretch.value),
        "cat": "operator",
        "args": {
            "operator": operator,
            "job": int(run.operators.job[operator]),
            "parallelism": stretch.value,
            "busy": round(busy, 4),
            "intervals": [stretch.first, stretch.last],
        },
    }


def _decisions(run: StreamRun, process: int, thread: int) -> Iterator[Event]:
    decisions = run.decisions
    when = ticks(run.interval_start_s[decisions.interval]).tolist()
    for row, ts in enumerate(when):
        operator, demand = int(decisions.operator[row]), float(decisions.demand[row])
        before, after = int(decisions.before[row]), int(decisions.after[row])
        yield {
            "ph": "i",
            "s": "t",
            "name": f"{operator_label(run, operator)} · {before} → {after}",
            "cat": "decision",
            "ts": ts,
            "pid": process,
            "tid": thread,
            "args": {
                "reason": reason_text(int(decisions.reason[row])),
                "operator": operator,
                **({"demand": demand} if np.isfinite(demand) else {}),
            },
        }


def _operator_counters(run: StreamRun, process: int, edges: list[int]) -> Iterator[Event]:
    columns = {name: run.of_operators(name) for name in ("busy", "blocked", "queued")}
    for operator in range(len(run.operators)):
        label = operator_label(run, operator)
        count = run.parallelism[:, operator]
        for at in np.flatnonzero(np.diff(count, prepend=-1)).tolist():
            yield _counter(f"{label}: instances", edges[at], process, {"count": int(count[at])})
        yield _counter(f"{label}: instances", edges[-1], process, {"count": 0})
        for at, ts in enumerate(edges[:-1]):
            shares = {name: round(100 * float(columns[name][at, operator]), 2) for name in ("busy", "blocked")}
            yield _counter(f"{label}: time of instances, %", ts, process, shares)
            # What waits is known at the end of an interval.
            waits = round(float(columns["queued"][at, operator]), 3)
            yield _counter(f"{label}: records waiting", edges[at + 1], process, {"records": waits})


def _job_counters(run: StreamRun, process: int) -> Iterator[Event]:
    ends: Floats = run.of_snapshots("end_s")[:, 0]
    series = (("rate, records/s", "rate"), ("latency, s", "latency_s"), ("lag, records", "lag"))
    starts, stops = ticks(ends - run.snapshot_s).tolist(), ticks(ends).tolist()
    for job, name in enumerate(run.job_names):
        for title, column in series:
            values = np.round(run.of_snapshots(column)[:, job], 4)
            when = stops if column == "lag" else starts
            for at in np.flatnonzero(np.diff(values, prepend=np.nan) != 0).tolist():
                yield _counter(f"{name}: {title}", when[at], process, {"value": float(values[at])})


def _counter(name: str, ts: int, process: int, args: dict[str, float]) -> Event:
    return {"ph": "C", "name": name, "ts": ts, "pid": process, "args": args}
