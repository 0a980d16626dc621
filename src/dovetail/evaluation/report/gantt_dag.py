"""The Gantt chart of a report of the dag family: a row is an executor, a colour is a job."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dovetail.evaluation.report import palette
from dovetail.evaluation.report.bars import cut, deflate, merge_tasks, pack, share_out, tick_for
from dovetail.evaluation.report.picture import Picture, asset
from dovetail.records.dag import DagRun

_SCRIPTS = ("gantt_data.js", "gantt_draw.js", "gantt.js")


def gantt(shown: list[tuple[int, str, DagRun]], moving_delay_s: float) -> Picture:
    """The chart of every run, packed."""
    merged = [merge_tasks(run) for _, _, run in shown]
    limits = share_out([len(bars) for bars in merged])
    makespan_s = max((run.end_s for _, _, run in shown), default=0.0)
    tick_s = tick_for(makespan_s)
    workloads: dict[str, int] = {}
    runs = []
    for (place, label, run), all_bars, limit in zip(shown, merged, limits, strict=True):
        bars, until_s = cut(all_bars, limit)
        jobs = deflate(json.dumps(_jobs(run), separators=(",", ":")).encode())
        finish_s = np.where(np.isfinite(run.jobs.finish_s), run.jobs.finish_s, -1.0)
        runs.append(
            {
                "label": label,
                "place": place,
                "seed": run.seed,
                "executors": run.executors,
                "makespan_s": round(run.end_s, 3),
                "tasks": len(run.tasks),
                "bars": len(bars),
                "until_s": until_s,
                "jobs": workloads.setdefault(jobs, len(workloads)),
                "finish": deflate(np.rint(finish_s / tick_s).astype("<i4").tobytes()),
                "data": pack(bars, run.executors, tick_s),
            }
        )
    data = {
        "tick_s": tick_s,
        "makespan_s": makespan_s,
        "moving_delay_s": moving_delay_s,
        "colours": palette.job_colours(),
        "runs": runs,
        "workloads": list(workloads),
    }
    return Picture(asset("gantt.html"), _SCRIPTS, data)


def _jobs(run: DagRun) -> dict[str, Any]:
    """What all schedulers' runs of one job sequence share; stored once."""
    stages: list[list[str]] = [[] for _ in run.jobs.name]
    for job, name in zip(run.stages.job.tolist(), run.stages.name, strict=True):
        stages[job].append(name)
    return {
        "name": run.jobs.name,
        "dag": run.jobs.dag,
        "arrival_s": np.round(run.jobs.arrival_s, 3).tolist(),
        "stages": stages,
    }
