"""A run of the gpu family as events of a Chrome trace.

A thread for each GPU of each machine, with a slice for every job that holds it or a share of it (a GPU that several
share has as many threads as it has jobs at a time), one for jobs without GPUs where a machine has such, a thread with
an instant for each decision and its reason, one for machines that fail and return, and counters of waiting and of
running jobs and of GPUs that are held.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail.core.gpu import Ints
from dovetail.records.gpu import END_TEXT, GpuRun, place_text, reason_text
from dovetail.records.gpu_lanes import bars_of, levels
from dovetail.records.perfetto import Event, as_json, meta, ticks

_FIRST = ("decisions", "machines")


def thread_names(run: GpuRun) -> list[str]:
    """Of all threads, in order."""
    names, _ = _threads(run)
    return names


def run_events(label: str, run: GpuRun, process: int, first_thread: int) -> Iterator[str]:
    """All events of one run as JSON."""
    names, thread = _threads(run)
    yield as_json(meta("process_name", process, 0, name=f"{label}, seed {run.seed}"))
    yield as_json(meta("process_sort_index", process, 0, sort_index=process))
    for place, name in enumerate(names):
        yield as_json(meta("thread_name", process, first_thread + place, name=name))
        yield as_json(meta("thread_sort_index", process, first_thread + place, sort_index=place))
    yield from map(as_json, _decisions(run, process, first_thread))
    yield from map(as_json, _outages(run, process, first_thread + 1))
    bars = bars_of(run)
    start, end = ticks(bars.start_s), ticks(bars.end_s)
    speed = run.mean_speed
    for place, segment in enumerate(bars.segment.tolist()):
        event = _slice(run, segment, float(speed[segment]), float(bars.share[place]))
        where = {"pid": process, "tid": first_thread + int(thread[place])}
        yield as_json(event | where | {"ts": int(start[place]), "dur": int(end[place] - start[place])})
    yield from map(as_json, _counters(run, process))


def _threads(run: GpuRun) -> tuple[list[str], Ints]:
    """Their names, and the thread of each bar."""
    bars = bars_of(run)
    level = levels(bars)
    used = set(zip(bars.machine.tolist(), bars.device.tolist(), level.tolist(), strict=True))
    every = ((m, d, 0) for m, gpus in enumerate(run.machines.gpus.tolist()) for d in range(gpus))
    number = {key: len(_FIRST) + place for place, key in enumerate(sorted(used.union(every)))}
    names = [*_FIRST]
    for machine, device, which in number:
        what = "no GPU" if device < 0 else f"GPU {device}"
        names.append(f"{run.machines.name[machine]} · {what}{f' ({which + 1})' if which else ''}")
    keys = zip(bars.machine.tolist(), bars.device.tolist(), level.tolist(), strict=True)
    return names, np.array([number[key] for key in keys], np.int64)


def _slice(run: GpuRun, segment: int, speed: float, share: float) -> Event:
    segments, jobs = run.segments, run.jobs
    job = int(segments.job[segment])
    return {
        "ph": "X",
        "name": f"{jobs.name[job]} · {jobs.kind[job]}",
        "cat": "job",
        "args": {
            "job": job,
            "user": jobs.user[job],
            "workers": int(jobs.workers[job]),
            "gpus_of_a_worker": float(jobs.gpus[job]),
            "share": share,
            "waited_s": float(segments.start_s[segment] - jobs.arrival_s[job]),
            "usd_per_hour": float(run.usd_per_hour[segment]),
            "ended": END_TEXT[int(segments.why[segment])],
            **({"mean_speed": speed, "alone": float(segments.alone[segment])} if np.isfinite(speed) else {}),
        },
    }


def _decisions(run: GpuRun, process: int, thread: int) -> Iterator[Event]:
    decisions = run.decisions
    for row, ts in enumerate(ticks(decisions.time_s).tolist()):
        job, stops = int(decisions.job[row]), bool(decisions.stops[row])
        said = {
            name: float(getattr(decisions, name)[row])
            for name in ("priority", "affinity")
            if np.isfinite(getattr(decisions, name)[row])
        }
        where = {} if stops else {"place": place_text(int(decisions.place[row]))}
        yield {
            "ph": "i",
            "s": "t",
            "name": f"{run.jobs.name[job]} {'is stopped' if stops else 'starts'}",
            "cat": "decision",
            "ts": ts,
            "pid": process,
            "tid": thread,
            "args": {
                "reason": reason_text(int(decisions.reason[row])),
                **where,
                "job": job,
                "waiting": int(decisions.waiting[row]),
                **said,
            },
        }


def _outages(run: GpuRun, process: int, thread: int) -> Iterator[Event]:
    outages = run.outages
    for row, ts in enumerate(ticks(outages.time_s).tolist()):
        name = f"{run.machines.name[int(outages.machine[row])]} {'is back' if outages.up[row] else 'is down'}"
        yield {"ph": "i", "s": "t", "name": name, "cat": "machine", "ts": ts, "pid": process, "tid": thread}


def _counters(run: GpuRun, process: int) -> Iterator[Event]:
    start_s, end_s = run.segments.start_s, run.segments.end_s
    ended = np.isfinite(end_s)
    gpus = run.jobs.all_gpus[run.segments.job]
    ones = np.ones(len(gpus))
    done = run.jobs.finish_s[np.isfinite(run.jobs.finish_s)]
    present = ((run.jobs.arrival_s, np.ones(len(run.jobs))), (done, -np.ones(done.size)))
    runs = ((start_s, ones), (end_s[ended], -ones[ended]))
    waits = (*present, (start_s, -ones), (end_s[ended], ones[ended]))
    held = ((start_s, gpus), (end_s[ended], -gpus[ended]))
    for name, steps in (("waiting jobs", waits), ("running jobs", runs), ("GPUs held", held)):
        when = ticks(np.concatenate([time_s for time_s, _ in steps]))
        at, which = np.unique(when, return_inverse=True)
        total = np.cumsum(np.bincount(which, np.concatenate([step for _, step in steps]), minlength=at.size))
        for ts, count in zip(at.tolist(), np.round(total, 6).tolist(), strict=True):
            yield {"ph": "C", "name": name, "ts": ts, "pid": process, "args": {"count": count}}
