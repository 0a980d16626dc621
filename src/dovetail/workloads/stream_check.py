"""What makes a stream workload valid.  Every fault is found and placed: file, row (from 0), field."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow.compute as pc

from dovetail.core.errors import ConfigError, DovetailError, Fault
from dovetail.core.stream import Floats, Ints
from dovetail.workloads.column_check import column_faults, duplicates, each_row
from dovetail.workloads.schema import EDGES, JOBS, MANIFEST
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_jobs import jobs_of
from dovetail.workloads.stream_rates import MAX_BINS, RateSeries, read_rates
from dovetail.workloads.stream_schema import JOB_FILES, OPERATORS, RATES, STREAM_LAYOUT, StreamSetting
from dovetail.workloads.stream_tables import edge_ends, job_tables, rate_table
from dovetail.workloads.tables import Tables, numbers, positions, texts

MAX_OPERATORS = 100_000
MAX_NUMBER = 1e12
_ABOVE_0 = {JOBS: ("rate", "slo_s", "checkpoint_s"), OPERATORS: ("service_s", "buffer")}
_FROM_0 = {JOBS: ("restart_s",), OPERATORS: ("selectivity", "source", "variability", "state_mb")}


def stream_faults(setting: StreamSetting, tables: Tables, unread: Collection[str] = ()) -> list[Fault]:
    """Faults in the values of tables whose columns are complete and of the right types.

    `unread`: files that are there, but could not be read; that they are missing here is no fault of its own.
    """
    faults: list[Fault] = []
    for file, table in tables.items():
        faults += column_faults(file, STREAM_LAYOUT.tables[file], table)
        if table.num_rows == 0 and file != EDGES:
            faults.append(Fault(file, None, None, "the table is empty", "at least one row"))
    faults += _missing(setting, tables, unread)
    if all(file in tables for file in JOB_FILES):
        faults += _number_faults(tables)
        faults += _operator_faults(setting, tables)
        faults += _edge_faults(tables)
    if RATES in tables and tables[RATES].num_rows:
        faults += _rate_faults(setting, tables)
    return faults


def work_faults(work: StreamWorkload) -> list[Fault]:
    """The same for jobs and rates in memory: rows are those of the tables they would be stored in."""
    if len(work.edge_from):
        order = np.lexsort((work.edge_from, work.edge_to))
        if not np.array_equal(order, np.arange(order.size)):
            return [Fault(EDGES, None, None, "edges are not sorted", "by `edge_to`, then `edge_from`")]
    try:
        setting = StreamSetting(work.duration_s, slots=work.slots, bin_s=work.bin_s, clock_s=work.clock_s)
    except ValueError as error:
        return [Fault(MANIFEST, None, "setting", str(error))]
    series = RateSeries(work.job_name, work.bin_s, work.clock_s, work.rate)
    return stream_faults(setting, {**job_tables(jobs_of(work)), RATES: rate_table(series)})


def _missing(setting: StreamSetting, tables: Tables, unread: Collection[str]) -> Iterator[Fault]:
    there = {*tables, *unread}
    if not there:
        yield Fault(MANIFEST, None, "files", "neither jobs nor rates", f"{', '.join(JOB_FILES)}, or {RATES}")
    elif any(file in there for file in JOB_FILES):
        for file in JOB_FILES:
            if file not in there:
                yield Fault(MANIFEST, None, "files", f"{file} is not listed", "all three tables of jobs")
        if setting.slots is None:
            yield Fault(MANIFEST, None, "setting", "no slots", "how many instances all jobs have together, at most")
    if setting.rates is None and RATES not in there and there:
        yield Fault(MANIFEST, None, "files", f"{RATES} is not listed", "stored rates, or the name of a generator")
    if setting.rates is not None:
        if RATES in there:
            yield Fault(MANIFEST, None, "setting", "rates of a generator, and stored ones", "one or the other")
        try:
            read_rates(setting.rates)
        except (ConfigError, DovetailError) as error:
            yield Fault(MANIFEST, None, "setting", str(error), "rates as `dovetail workload generate` writes them")


def _number_faults(tables: Tables) -> Iterator[Fault]:
    for file in (JOBS, OPERATORS):
        for name in _ABOVE_0[file]:
            values = numbers(tables[file][name])
            wrong = (values <= 0) | (values > MAX_NUMBER)
            yield from each_row(file, name, wrong, "out of range", f"above 0, {MAX_NUMBER:g} at most")
        for name in _FROM_0[file]:
            values = numbers(tables[file][name])
            wrong = (values < 0) | (values > MAX_NUMBER)
            yield from each_row(file, name, wrong, "out of range", f"0 to {MAX_NUMBER:g}")
    skew = numbers(tables[OPERATORS]["skew"])
    yield from each_row(OPERATORS, "skew", (skew < 0) | (skew > 1), "not a share", "0 to 1")
    share = numbers(tables[EDGES]["share"])
    yield from each_row(EDGES, "share", (share < 0) | (share > 1), "not a share", "0 to 1")


def _operator_faults(setting: StreamSetting, tables: Tables) -> Iterator[Fault]:
    jobs, operators = tables[JOBS], tables[OPERATORS]
    yield from duplicates(JOBS, "job", (jobs["job"],))
    yield from duplicates(OPERATORS, "operator", (operators["job"], operators["operator"]))
    if operators.num_rows > MAX_OPERATORS:
        yield Fault(OPERATORS, None, None, f"{operators.num_rows:,} operators", f"{MAX_OPERATORS:,} at most")
    job = positions(operators["job"], texts(jobs["job"]))
    yield from each_row(OPERATORS, "job", job < 0, f"no such job in {JOBS}", "a job of that table")
    back = np.r_[False, np.diff(job) < 0] & (job >= 0)
    yield from each_row(OPERATORS, "job", back, "of an earlier job than the row before", "operators job by job")
    idle = ~np.isin(np.arange(jobs.num_rows), job)
    yield from each_row(JOBS, "job", idle, "without operators", f"at least one in {OPERATORS}")
    most, start = numbers(operators["max"]), numbers(operators["start"])
    yield from each_row(OPERATORS, "max", (most < 1) | (most > 10**6), "not a number of instances", "1 to 1,000,000")
    wrong = (start < 1) | ((start > most) & (most >= 1))
    yield from each_row(OPERATORS, "start", wrong, "not a number of instances", "1 to what `max` says")
    if setting.slots is not None and start.sum() > setting.slots:
        problem = f"{start.sum():,.0f} instances at the start, and {setting.slots:,} slots"
        yield Fault(OPERATORS, None, "start", problem, "no more instances than slots")


def _edge_faults(tables: Tables) -> Iterator[Fault]:
    edges, operators = tables[EDGES], tables[OPERATORS]
    origin, target = edge_ends(tables)
    for name, end in (("from", origin), ("to", target)):
        yield from each_row(EDGES, name, end < 0, "no such operator of this job", f"one of {OPERATORS}")
    known = (origin >= 0) & (target >= 0)
    back = known & (origin >= target)
    expected = f"operators in the order of {OPERATORS}, each after those that feed it"
    yield from each_row(EDGES, "to", back, "does not come after the operator that feeds it", expected)
    yield from duplicates(EDGES, "to", (edges["job"], edges["from"], edges["to"]))
    fed = np.isin(np.arange(operators.num_rows), target[known])
    source = numbers(operators["source"])
    yield from each_row(
        OPERATORS, "source", fed & (source > 0), "a source that others feed", "0 where an edge leads to it"
    )
    lonely = ~fed & (source == 0)
    yield from each_row(OPERATORS, "source", lonely, "gets no records", "above 0 where no edge leads to it")


def _rate_faults(setting: StreamSetting, tables: Tables) -> Iterator[Fault]:
    table = tables[RATES]
    rate = numbers(table["rate"])
    wrong = (rate < 0) | (rate > MAX_NUMBER)
    yield from each_row(RATES, "rate", wrong, "not a rate", f"0 to {MAX_NUMBER:g} records a second")
    names = pc.unique(texts(table["series"]))
    code = positions(table["series"], names)
    yield from _order_faults(code)
    length = np.bincount(code, minlength=len(names))
    if np.unique(length).size > 1:
        said = ", ".join(f"{name} {count:,}" for name, count in zip(names.to_pylist(), length, strict=True))
        yield Fault(RATES, None, "series", f"of unequal lengths: {said}", "as many bins in every series")
    if length.max() > MAX_BINS:
        yield Fault(RATES, None, "series", f"{length.max():,} bins", f"{MAX_BINS:,} at most; longer bins help")
    there_s = float(length.min() * (setting.bin_s or 0.0))
    if setting.bin_s is not None and setting.duration_s > there_s:
        problem = f"a duration of {setting.duration_s:g} s, and {there_s:g} s of rates"
        yield Fault(MANIFEST, None, "setting", problem, "a duration no longer than the rates")
    yield from _silent_faults(code, rate)
    if JOBS in tables and len(names) > 1 and names.to_pylist() != tables[JOBS]["job"].to_pylist():
        yield Fault(RATES, None, "series", "not those of the jobs", "one for all jobs, or one for each in their order")


def _order_faults(code: Ints) -> Iterator[Fault]:
    back = np.r_[False, np.diff(code) < 0]
    yield from each_row(RATES, "series", back, "goes on after another one began", "series one after another")


def _silent_faults(code: Ints, rate: Floats) -> Iterator[Fault]:
    for series in np.flatnonzero(np.bincount(code, rate) <= 0):
        row = int(np.argmax(code == series))
        yield Fault(RATES, row, "rate", "a series in which no records come", "at least one rate above 0")
