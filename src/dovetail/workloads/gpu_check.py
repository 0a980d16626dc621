"""What makes a gpu workload valid.  Every fault is found and placed: file, row (from 0), field."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dovetail.cluster.gpu import MAX_DEVICES, MAX_MACHINES, gpu_type
from dovetail.core.errors import Fault, UnknownName
from dovetail.workloads.column_check import column_faults, duplicates, each_row
from dovetail.workloads.gpu_schema import GPU_LAYOUT, MACHINES
from dovetail.workloads.gpu_tables import text_mask
from dovetail.workloads.schema import JOBS
from dovetail.workloads.tables import Tables, numbers

MAX_WORKERS = 100_000  # of a job
MAX_SECONDS = 1e10
MAX_AMOUNT = 1e7  # processors or GB of a worker or a machine


def gpu_faults(tables: Tables) -> list[Fault]:
    """Faults in the values of tables whose columns are complete and of the right types."""
    faults: list[Fault] = []
    for file, table in tables.items():
        faults += column_faults(file, GPU_LAYOUT.tables[file], table)
        if table.num_rows == 0:
            faults.append(Fault(file, None, None, "the table is empty", "at least one row"))
    if JOBS in tables:
        faults += job_faults(JOBS, tables[JOBS])
    if MACHINES in tables:
        faults += _machine_faults(tables[MACHINES])
    return faults


def job_faults(file: str, jobs: pa.Table) -> Iterator[Fault]:
    """Values of jobs that cannot be."""
    arrival_s = numbers(jobs["arrival_s"])
    yield from each_row(file, "arrival_s", arrival_s < 0, "negative arrival", "0 s or later")
    yield from each_row(file, "arrival_s", arrival_s > MAX_SECONDS, "out of all proportion", f"{MAX_SECONDS:g} at most")
    earlier = np.r_[False, np.diff(arrival_s) < 0] if arrival_s.size else np.zeros(0, np.bool_)
    yield from each_row(file, "arrival_s", earlier, "earlier than the job before", "jobs in order of arrival")
    workers = numbers(jobs["workers"])
    wrong = (workers < 1) | (workers > MAX_WORKERS)
    yield from each_row(file, "workers", wrong, "not a number of workers", f"1 to {MAX_WORKERS:,}")
    gpus = numbers(jobs["gpus"])
    wrong = (gpus < 0) | (gpus > MAX_DEVICES) | ((gpus > 1) & (gpus != np.floor(gpus)))
    expected = f"0, a share of one GPU, or whole ones, {MAX_DEVICES} at most"
    yield from each_row(file, "gpus", wrong, "not what a worker can have", expected)
    for name in ("cpus", "memory"):
        amount = numbers(jobs[name])
        yield from each_row(file, name, (amount < 0) | (amount > MAX_AMOUNT), "not an amount", f"0 to {MAX_AMOUNT:g}")
    for name in ("work_s", "estimate_s"):
        seconds = numbers(jobs[name])
        wrong = (seconds <= 0) | (seconds > MAX_SECONDS)
        yield from each_row(file, name, wrong, "takes no time, or out of all proportion", f"up to {MAX_SECONDS:g} s")
    yield from _type_faults(file, "types", jobs["types"])
    yield from duplicates(file, "job", (jobs["job"],))


def _type_faults(file: str, field: str, column: pa.ChunkedArray) -> Iterator[Fault]:
    known: dict[str, str] = {}
    for row, text in enumerate(column.to_pylist()):
        if not text:
            continue  # missing or empty: found already
        if text not in known:
            try:
                text_mask(text)
                known[text] = ""
            except UnknownName as error:
                known[text] = str(error)
        if known[text]:
            yield Fault(file, row, field, known[text], "any, or types between bars: V100|A100")


def _machine_faults(table: pa.Table) -> Iterator[Fault]:
    if table.num_rows > MAX_MACHINES:
        yield Fault(MACHINES, None, None, f"{table.num_rows:,} machines", f"{MAX_MACHINES:,} at most")
    gpus = numbers(table["gpus"])
    wrong = (gpus < 0) | (gpus > MAX_DEVICES)
    yield from each_row(MACHINES, "gpus", wrong, "not a number of GPUs", f"0 to {MAX_DEVICES}")
    for name in ("cpus", "memory"):
        amount = numbers(table[name])
        wrong = (amount <= 0) | (amount > MAX_AMOUNT)
        yield from each_row(MACHINES, name, wrong, "not an amount", f"above 0, {MAX_AMOUNT:g} at most")
    rack = numbers(table["rack"])
    yield from each_row(MACHINES, "rack", (rack < 0) | (rack > MAX_MACHINES), "not a rack", "0 or more")
    for row, text in enumerate(table["type"].to_pylist()):
        try:
            gpu_type(text or "V100")
        except UnknownName as error:
            yield Fault(MACHINES, row, "type", str(error), "a type of GPU")
    yield from duplicates(MACHINES, "machine", (table["machine"],))
