"""A run of the dag family as events of a Chrome trace.

One thread per executor with a slice for each task, a thread with an instant for each decision and its reason, a thread
of arrivals and completions, a span for each job, and a counter of the jobs in the system.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail.records.dag import DagRun, reason_text
from dovetail.records.perfetto import Event, as_json, meta, ticks

WAVES = ("fresh", "first", "rest")


def run_events(label: str, run: DagRun, process: int, first_thread: int) -> Iterator[str]:
    """All events of one run as JSON.  Threads: arrivals and completions, decisions, then the executors."""
    yield from map(as_json, _names(label, run, process, first_thread))
    yield from map(as_json, _jobs(run, process, first_thread))
    yield from map(as_json, _decisions(run, process, first_thread + 1))
    yield from _tasks(run, process, first_thread + 2)


def _names(label: str, run: DagRun, process: int, first_thread: int) -> Iterator[Event]:
    yield meta("process_name", process, 0, name=f"{label}, seed {run.seed}")
    yield meta("process_sort_index", process, 0, sort_index=process)
    digits = len(str(run.executors - 1))
    names = ["jobs", "decisions", *(f"executor {number:0{digits}d}" for number in range(run.executors))]
    for place, name in enumerate(names):
        yield meta("thread_name", process, first_thread + place, name=name)
        yield meta("thread_sort_index", process, first_thread + place, sort_index=place)


def _tasks(run: DagRun, process: int, first_thread: int) -> Iterator[str]:
    """The slices.  There may be millions, but few that differ in more than time and place: those are kept."""
    tasks = run.tasks
    start, end = ticks(tasks.start_s), ticks(tasks.end_s)
    stage_of = _stage_names(run)
    known: dict[tuple[int, int, int, bool], str] = {}
    columns = (tasks.executor, tasks.job, tasks.stage, tasks.wave, tasks.lost, start, end)
    for executor, job, stage, wave, lost, ts, to in zip(*(column.tolist() for column in columns), strict=True):
        key = (job, stage, wave, lost)
        if key not in known:
            event = _slice(run, stage_of[job][stage], *key)
            known[key] = as_json(event | {"pid": process}).removesuffix("}")
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
    times = ticks(decisions.time_s).tolist()
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
        arrival = int(ticks(jobs.arrival_s[job : job + 1])[0])
        facts = {"job": job, "dag": jobs.dag[job], "work_s": float(jobs.work_s[job])}
        yield {**base, "ph": "i", "s": "t", "name": f"{name} arrives", "ts": arrival, "args": facts}
        yield {**span, "ph": "b", "ts": arrival, "args": facts}
        changes.append((arrival, 1))
        if np.isfinite(jobs.finish_s[job]):
            finish = int(ticks(jobs.finish_s[job : job + 1])[0])
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


def _stage_names(run: DagRun) -> list[list[str]]:
    names: list[list[str]] = [[] for _ in run.jobs.name]
    for job, name in zip(run.stages.job.tolist(), run.stages.name, strict=True):
        names[job].append(name)
    return names
