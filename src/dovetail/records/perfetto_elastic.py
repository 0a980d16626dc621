"""A run of the elastic family as events of a Chrome trace.

One thread per job with a slice for every stretch of slots in which its numbers of workers and parameter servers stay
the same, a thread with an instant for each decision and its reason, and counters of workers and of parameter servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import SERVER, WORKER, Ints
from dovetail.records.elastic import ElasticRun, reason_text, role_words
from dovetail.records.perfetto import Event, as_json, meta, ticks


class Stretch(NamedTuple):
    """Slots in which a job has the same numbers."""

    first: int
    last: int
    workers: int
    servers: int


def stretches(workers: Ints, servers: Ints) -> list[Stretch]:
    """Of one job, from what it had in every slot; slots without anything are left out."""
    changes = np.flatnonzero((np.diff(workers) != 0) | (np.diff(servers) != 0)) + 1
    edges = [0, *changes.tolist(), len(workers)]
    found = (Stretch(a, b - 1, int(workers[a]), int(servers[a])) for a, b in pairwise(edges))
    return [one for one in found if one.workers or one.servers]


def run_events(label: str, run: ElasticRun, process: int, first_thread: int) -> Iterator[str]:
    """All events of one run as JSON.  Threads: decisions, then the jobs."""
    workers, servers = run.standing(WORKER), run.standing(SERVER)
    yield from map(as_json, _names(label, run, process, first_thread))
    yield from map(as_json, _decisions(run, process, first_thread))
    for job, name in enumerate(run.job_names):
        for stretch in stretches(workers[job], servers[job]):
            yield as_json(_slice(run, job, name, stretch) | {"pid": process, "tid": first_thread + 1 + job})
    for name, standing in (("workers", workers), ("parameter servers", servers)):
        total = standing.sum(axis=0)
        for slot in np.flatnonzero(np.diff(total, prepend=0)).tolist():
            count = {"count": int(total[slot])}
            yield as_json({"ph": "C", "name": name, "ts": _tick(run, slot), "pid": process, "args": count})
        yield as_json({"ph": "C", "name": name, "ts": _tick(run, run.slots), "pid": process, "args": {"count": 0}})


def _names(label: str, run: ElasticRun, process: int, first_thread: int) -> Iterator[Event]:
    yield meta("process_name", process, 0, name=f"{label}, seed {run.seed}")
    yield meta("process_sort_index", process, 0, sort_index=process)
    for place, name in enumerate(["decisions", *(f"job {job} ({name})" for job, name in enumerate(run.job_names))]):
        yield meta("thread_name", process, first_thread + place, name=name)
        yield meta("thread_sort_index", process, first_thread + place, sort_index=place)


def _slice(run: ElasticRun, job: int, name: str, stretch: Stretch) -> Event:
    start, end = _tick(run, stretch.first), _tick(run, stretch.last + 1)
    return {
        "ph": "X",
        "name": f"{name} · {role_words(stretch.workers, WORKER)}",
        "cat": "allocation",
        "ts": start,
        "dur": end - start,
        "args": {
            "job": job,
            "workers": stretch.workers,
            "parameter_servers": stretch.servers,
            "slots": [stretch.first, stretch.last],
        },
    }


def _decisions(run: ElasticRun, process: int, thread: int) -> Iterator[Event]:
    decisions = run.decisions
    for row, slot in enumerate(decisions.slot.tolist()):
        job, said = int(decisions.job[row]), {}
        for column in ("utility", "cost", "price"):
            value = float(getattr(decisions, column)[row])
            if np.isfinite(value):
                said[column] = value
        amount = int(decisions.worker_slots[row])
        verb = "rejected" if decisions.rejected[row] else f"{amount} worker-slots" if amount else "waits"
        yield {
            "ph": "i",
            "s": "t",
            "name": f"{run.job_names[job]} · {verb}",
            "cat": "decision",
            "ts": _tick(run, slot),
            "pid": process,
            "tid": thread,
            "args": {
                "reason": reason_text(int(decisions.reason[row])),
                "job": job,
                "promise": int(decisions.promise[row]),
                "last_slot": int(decisions.last_slot[row]),
                **said,
            },
        }


def _tick(run: ElasticRun, slot: int) -> int:
    """The start of a slot."""
    return int(ticks(np.array([slot * run.slot_s]))[0])
