"""Do a run's tables agree with each other?  A file can be whole and still have been written wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.dag import Bools, Ints
from dovetail.core.errors import RecordError

if TYPE_CHECKING:
    from dovetail.records.dag import DagRun


def check_run(directory: Path, run: DagRun) -> None:
    """Check every range that readers index by, or raise a `RecordError` that names file, row and column."""
    jobs, stages, edges, tasks, decisions = run.jobs, run.stages, run.edges, run.tasks, run.decisions

    def inside(table: str, column: str, values: Ints, low: int, high: Ints | int) -> None:
        wrong = np.flatnonzero((values < low) | (values >= high))
        if wrong.size:
            row = int(wrong[0])
            top = int(high if isinstance(high, int) else high[row]) - 1
            wanted = f"{low} to {top}" if top >= low else f"nothing: there is no {column}"
            file = directory / f"{table}.parquet"
            raise RecordError(f"{file}, row {row}, column {column!r}: {values[row]}; expected {wanted}")

    inside("stages", "job", stages.job, 0, len(jobs))
    stage_count = np.bincount(stages.job, minlength=len(jobs))
    first_row = np.cumsum(stage_count) - stage_count
    in_order = np.arange(len(stages)) - np.repeat(first_row, stage_count)
    if not (np.all(np.diff(stages.job) >= 0) and np.array_equal(stages.stage, in_order)):
        file = directory / "stages.parquet"
        raise RecordError(f"{file}: expected stages 0, 1, ... of job 0, then those of job 1, and so on")
    inside("edges", "job", edges.job, 0, len(jobs))
    inside("edges", "parent", edges.parent, 0, stage_count[edges.job])
    inside("edges", "child", edges.child, 0, stage_count[edges.job])
    inside("tasks", "job", tasks.job, 0, len(jobs))
    inside("tasks", "stage", tasks.stage, 0, stage_count[tasks.job])
    inside("tasks", "executor", tasks.executor, 0, run.executors)
    inside("decisions", "job", decisions.job, -1, len(jobs))
    inside("decisions", "source_job", decisions.source_job, -1, len(jobs))
    inside("decisions", "given", decisions.given, 0, run.executors + 1)
    # Index -1, a declined offer, meets the extra last element: no stage may stand there.
    inside("decisions", "stage", decisions.stage, -1, np.append(stage_count, 0)[decisions.job])
    _check_times(directory, run)


def _check_times(directory: Path, run: DagRun) -> None:
    jobs, tasks, decisions = run.jobs, run.tasks, run.decisions

    def require(table: str, fine: Bools, found: str, expected: str) -> None:
        wrong = np.flatnonzero(~fine)
        if wrong.size:
            row = int(wrong[0])
            columns = {name: getattr(getattr(run, table), name)[row] for name in found.split()}
            values = ", ".join(f"{name} {value}" for name, value in columns.items())
            file = directory / f"{table}.parquet"
            raise RecordError(f"{file}, row {row}: {values}; expected {expected}")

    whole = np.isfinite(tasks.start_s) & np.isfinite(tasks.end_s) & (tasks.end_s >= tasks.start_s)
    require("tasks", whole, "start_s end_s", "finite times, the end not before the start")
    fine = np.isfinite(jobs.arrival_s) & (jobs.finish_s >= jobs.arrival_s)
    require("jobs", fine, "arrival_s finish_s", "a finish not before the arrival (inf: not finished)")
    fine = np.isfinite(jobs.ideal_s) & (jobs.ideal_s > 0)
    require("jobs", fine, "ideal_s", "a time above 0 s")
    require("decisions", np.isfinite(decisions.time_s), "time_s", "a finite time")
