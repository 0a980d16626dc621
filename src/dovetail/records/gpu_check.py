"""Do the tables of a gpu run agree with each other?  A file can be whole and still have been written wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.core.gpu import Bools, Ints

if TYPE_CHECKING:
    from dovetail.records.gpu import GpuRun

_TIMED = ("decisions", "speeds", "outages")


def check_run(directory: Path, run: GpuRun) -> None:
    """Check every range that readers index by, or raise a `RecordError` that names file, row and column."""
    jobs, machines, segments, places = run.jobs, run.machines, run.segments, run.places

    def require(table: str, columns: str, fine: Bools, expected: str) -> None:
        wrong = np.flatnonzero(~fine)
        if wrong.size:
            row = int(wrong[0])
            found = ", ".join(f"{name} {getattr(getattr(run, table), name)[row]}" for name in columns.split())
            file = directory / f"{table}.parquet"
            raise RecordError(f"{file}, row {row}, column {columns.split()[0]!r}: {found}; expected {expected}")

    def inside(table: str, column: str, low: int, high: int) -> None:
        values: Ints = getattr(getattr(run, table), column)
        wanted = f"{low} to {high - 1}" if high > low else "nothing: there is none"
        require(table, column, (values >= low) & (values < high), wanted)

    fine = np.isfinite(jobs.arrival_s) & (jobs.arrival_s >= 0)
    require("jobs", "arrival_s", fine, "a time from 0 s")
    require("jobs", "start_s arrival_s", jobs.start_s >= jobs.arrival_s, "not before the arrival (inf: never)")
    require("jobs", "finish_s start_s", jobs.finish_s >= jobs.start_s, "not before the start (inf: not finished)")
    require("jobs", "workers", jobs.workers >= 1, "1 or more")
    require("jobs", "gpus", (jobs.gpus >= 0) & np.isfinite(jobs.gpus), "0 or more")
    require("jobs", "work_s", (jobs.work_s > 0) & np.isfinite(jobs.work_s), "a time above 0 s")
    for name in ("running_s", "fee", "work_run_s", "alone_run_s"):
        values = getattr(jobs, name)
        require("jobs", name, (values >= 0) & np.isfinite(values), "a number from 0")
    if not len(machines):
        raise RecordError(f"{directory / 'machines.parquet'}: no rows; expected at least one machine")
    require("machines", "gpus", (machines.gpus >= 0) & (machines.gpus < 63), "0 to 62")
    inside("segments", "job", 0, len(jobs))
    inside("segments", "why", 0, 4)
    begins = np.isfinite(segments.start_s) & (segments.end_s >= segments.start_s)
    require("segments", "end_s start_s", begins, "an end not before the start (inf: it still runs)")
    require("segments", "start_s", np.diff(segments.start_s, prepend=0.0) >= 0, "segments in order of start")
    require("segments", "alone", (segments.alone > 0) & np.isfinite(segments.alone), "a speed above 0")
    inside("places", "segment", 0, len(segments))
    require("places", "segment", np.diff(places.segment, prepend=0) >= 0, "places in order of their segments")
    inside("places", "machine", 0, len(machines))
    gpus = machines.gpus[places.machine]
    fine = (places.device >= -1) & (places.device < gpus)
    require("places", "device machine", fine, "-1, or a device of its machine")
    fine = (places.devices >= 0) & (places.devices >> gpus == 0)
    require("places", "devices machine", fine, "bits of devices of its machine")
    require("places", "workers", places.workers >= 1, "1 or more")
    stands = np.bincount(places.segment, places.workers, minlength=len(segments))
    require("segments", "job", stands == jobs.workers[segments.job], "places for all workers of its job")
    inside("decisions", "job", 0, len(jobs))
    inside("decisions", "segment", 0, len(segments))
    inside("speeds", "job", 0, len(jobs))
    require("speeds", "speed", (run.speeds.speed > 0) & np.isfinite(run.speeds.speed), "a speed above 0")
    inside("outages", "machine", 0, len(machines))
    for table in _TIMED:
        time_s = getattr(run, table).time_s
        fine = np.isfinite(time_s) & (np.diff(time_s, prepend=0.0) >= 0)
        require(table, "time_s", fine, "finite times from 0 s in order")
