"""Runs as a Chrome trace, which ui.perfetto.dev and chrome://tracing open.

One process per run, one thread per executor with a slice for each task, a thread with an instant for each
decision and its reason, a thread of arrivals and completions, a span for each job, and a counter of the jobs
in the system.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from dovetail.core.dag import REASON_TEXT, Reason
from dovetail.records.dag import DagRun
from dovetail.records.files import replacing

WAVES = ("fresh", "first", "rest")
_MICROSECONDS = 1e6
Event = dict[str, Any]


def write_perfetto(runs: Iterable[tuple[str, DagRun]], path: Path) -> int:
    """Write (label, run) pairs and return the number of events; a name that ends in .gz is compressed."""
    written = 0
    with replacing(path) as part, _open(part, compressed=path.suffix == ".gz") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[')
        first_thread = 1000  # not a process number: a thread numbered like its process is its main thread
        for number, (label, run) in enumerate(runs, start=1):
            for event in run_events(label, run, number, first_thread):
                file.write(",\n" if written else "\n")
                file.write(event)
                written += 1
            first_thread += run.executors + 2
        file.write("\n]}\n")
    return written


def run_events(label: str, run: DagRun, process: int, first_thread: int) -> Iterator[str]:
    """All events of one run as JSON.  Threads: arrivals and completions, decisions, then the executors."""
    yield from map(_json, _names(label, run, process, first_thread))
    yield from map(_json, _jobs(run, process, first_thread))
    yield from map(_json, _decisions(run, process, first_thread + 1))
    yield from _tasks(run, process, first_thread + 2)


def _names(label: str, run: DagRun, process: int, first_thread: int) -> Iterator[Event]:
    yield _meta("process_name", process, 0, name=f"{label}, seed {run.seed}")
    yield _meta("process_sort_index", process, 0, sort_index=process)
    digits = len(str(run.executors - 1))
    names = ["jobs", "decisions", *(f"executor {number:0{digits}d}" for number in range(run.executors))]
    for place, name in enumerate(names):
        yield _meta("thread_name", process, first_thread + place, name=name)
        yield _meta("thread_sort_index", process, first_thread + place, sort_index=place)


def _tasks(run: DagRun, process: int, first_thread: int) -> Iterator[str]:
    """The slices.  There may be millions, but few that differ in more than time and place: those are kept."""
    tasks = run.tasks
    start, end = _ticks(tasks.start_s), _ticks(tasks.end_s)
    stage_of = _stage_names(run)
    known: dict[tuple[int, int, int, bool], str] = {}
    columns = (tasks.executor, tasks.job, tasks.stage, tasks.wave, tasks.lost, start, end)
    for executor, job, stage, wave, lost, ts, to in zip(*(column.tolist() for column in columns), strict=True):
        key = (job, stage, wave, lost)
        if key not in known:
            event = _slice(run, stage_of[job][stage], *key)
            known[key] = _json(event | {"pid": process}).removesuffix("}")
        yield f'{known[key]},"tid":{first_thread + executor},"ts":{ts},"dur":{to - ts}}}'


def _slice(run: DagRun, stage_name: str, job: int, stage: int, wave: int, lost: bool) -> Event:
    return {
        "ph": "X",
        "name": f"{run.jobs.name[job]} · {stage_name}" + (" (lost)" if lost else ""),
        "cat": "lost" if lost else "task",
        "args": {
            "job": job,
            "job_name": run.jobs.name[job],
            "dag": run.jobs.dag[job],
            "stage": stage,
            "stage_name": stage_name,
            "wave": WAVES[wave] if wave >= 0 else "unknown",
            "lost": lost,
        },
    }


def _decisions(run: DagRun, process: int, thread: int) -> Iterator[Event]:
    decisions = run.decisions
    stage_of = _stage_names(run)
    times = _ticks(decisions.time_s).tolist()
    for row, ts in enumerate(times):
        job, stage, given = int(decisions.job[row]), int(decisions.stage[row]), int(decisions.given[row])
        if job < 0:
            name = f"{decisions.on_offer[row]} declined"
        else:
            name = f"{given} → {run.jobs.name[job]} · {stage_of[job][stage]}"
        yield {
            "ph": "i",
            "s": "t",
            "name": name,
            "cat": "decision",
            "ts": ts,
            "pid": process,
            "tid": thread,
            "args": {
                "reason": reason_text(int(decisions.reason[row])),
                "job": job,
                "stage": stage,
                "given": given,
                "limit": int(decisions.limit[row]),
                "on_offer": int(decisions.on_offer[row]),
                "source_job": int(decisions.source_job[row]),
                "source_stage": int(decisions.source_stage[row]),
            },
        }


def _jobs(run: DagRun, process: int, thread: int) -> Iterator[Event]:
    jobs = run.jobs
    changes: list[tuple[int, int]] = []
    for job, name in enumerate(jobs.name):
        base: Event = {"cat": "job", "pid": process, "tid": thread}
        span = {**base, "id": f"{process}.{job}", "name": f"job {job} ({name})"}
        arrival = int(_ticks(jobs.arrival_s[job : job + 1])[0])
        facts = {"job": job, "dag": jobs.dag[job], "work_s": float(jobs.work_s[job])}
        yield {**base, "ph": "i", "s": "t", "name": f"{name} arrives", "ts": arrival, "args": facts}
        yield {**span, "ph": "b", "ts": arrival, "args": facts}
        changes.append((arrival, 1))
        if np.isfinite(jobs.finish_s[job]):
            finish = int(_ticks(jobs.finish_s[job : job + 1])[0])
            facts = {"job": job, "jct_s": float(jobs.finish_s[job] - jobs.arrival_s[job])}
            yield {**base, "ph": "i", "s": "t", "name": f"{name} completes", "ts": finish, "args": facts}
            yield {**span, "ph": "e", "ts": finish}
            changes.append((finish, -1))
    count = 0
    changes.sort()
    for place, (ts, change) in enumerate(changes):
        count += change
        if place + 1 == len(changes) or changes[place + 1][0] != ts:
            yield {"ph": "C", "name": "jobs in system", "ts": ts, "pid": process, "args": {"jobs": count}}


def reason_text(code: int) -> str:
    """The text of a reason; a code from a later version is shown as it is."""
    try:
        return REASON_TEXT[Reason(code)]
    except (ValueError, KeyError):
        return f"reason {code}"


def _json(event: Event) -> str:
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False)


def _meta(kind: str, process: int, thread: int, **args: Any) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": args}


def _ticks(time_s: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # Both ends of a task are rounded, not its length, so that tasks back to back never overlap.
    return np.rint(time_s * _MICROSECONDS).astype(np.int64)


def _stage_names(run: DagRun) -> list[list[str]]:
    names: list[list[str]] = [[] for _ in run.jobs.name]
    for job, name in zip(run.stages.job.tolist(), run.stages.name, strict=True):
        names[job].append(name)
    return names


@contextmanager
def _open(path: Path, *, compressed: bool) -> Iterator[IO[str]]:
    if not compressed:
        with path.open("w", encoding="utf-8") as plain:
            yield plain
        return
    # Neither the time nor the file's name goes into the header: equal runs, equal bytes.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as text,
    ):
        yield text
