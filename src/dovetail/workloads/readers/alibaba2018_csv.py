"""The rows of an Alibaba 2018 trace file, whichever of its two layouts it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from dovetail.core.dag import Bools, Floats, Ints
from dovetail.core.errors import Fault, InvalidWorkload

SAMPLE = ("arrival_s", "job_name", "task_name", "duration_s", "plan_cpu", "plan_mem", "instance_num")
ORIGINAL = (
    "task_name",
    "instance_num",
    "job_name",
    "task_type",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
)
_LAYOUTS = {len(SAMPLE): SAMPLE, len(ORIGINAL): ORIGINAL}
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, eq=False)
class Rows:
    """R rows (stages) of J jobs, in the order of the file; numbers of faulty rows are stand-ins."""

    line: Ints  # (R,) line of the file, from 1
    job: Ints  # (R,) position in job_name
    job_name: list[str]  # (J,)
    task: pa.Array  # (R,) text
    start_s: Floats  # (R,)
    duration_s: Floats  # (R,)
    cpu: Floats  # (R,) 100 = one core
    memory: Floats  # (R,)
    instances: Ints  # (R,)
    unfinished: Bools  # (J,) jobs with a task that did not finish
    faults: list[Fault]


def read_rows(file: Path, *, strict: bool) -> Rows:
    """All rows.  With `strict`, unfinished tasks are faults."""
    table, line, faults = _read_table(file)
    reading = _Reading(str(file), table, line, faults)
    job = table["job_name"].combine_chunks().dictionary_encode()
    reading.fault_where(reading.blank("job_name"), "job_name", "no name", "the name of the task's job")
    if "arrival_s" in table.column_names:
        start_s, duration_s = reading.number("arrival_s", least=0), reading.number("duration_s", least=0)
        unfinished = np.zeros(line.size, dtype=np.bool_)
    else:
        start_s, duration_s, unfinished = _times(reading, strict=strict)
    blank_cpu, blank_memory = reading.blank("plan_cpu"), reading.blank("plan_mem")
    cpu = np.where(blank_cpu, 100.0, reading.number("plan_cpu", least=0, unless=blank_cpu))
    reading.fault_where((cpu <= 0) & ~reading.unread("plan_cpu"), "plan_cpu", "demand of no cores", "above 0")
    memory = np.where(blank_memory, 0.0, reading.number("plan_mem", least=0, unless=blank_memory))
    instances = reading.number("instance_num", least=1, unless=unfinished)
    broken = instances != np.floor(instances)
    reading.fault_where(broken, "instance_num", "not a whole number", "1, 2, 3, ...")
    job_code = np.asarray(job.indices, dtype=np.int64)
    jobs_unfinished = np.zeros(len(job.dictionary), dtype=np.bool_)
    jobs_unfinished[job_code[unfinished]] = True
    return Rows(
        line=line,
        job=job_code,
        job_name=job.dictionary.to_pylist(),
        task=table["task_name"].combine_chunks(),
        start_s=start_s,
        duration_s=duration_s,
        cpu=cpu,
        memory=memory,
        instances=instances.astype(np.int64),
        unfinished=jobs_unfinished,
        faults=reading.faults,
    )


@dataclass
class _Reading:
    """Turns columns of text into numbers and notes what is wrong with them."""

    file: str
    table: pa.Table
    line: Ints
    faults: list[Fault]
    _unread: dict[str, Bools] = field(default_factory=dict)

    def blank(self, name: str) -> Bools:
        return np.asarray(pc.equal(self.table[name], ""))

    def unread(self, name: str) -> Bools:
        """Rows whose number was faulty already."""
        return self._unread[name]

    def number(self, name: str, *, least: float, unless: Bools | None = None) -> Floats:
        """The column as numbers; where it has none, or one below `least`, a fault and `least` instead."""
        column = self.table[name]
        readable = pc.match_substring_regex(column, _NUMBER)
        value = np.array(pc.if_else(readable, column, "nan").cast(pa.float64()).to_numpy())
        value[~np.isfinite(value)] = np.nan
        skip = np.zeros(value.size, dtype=np.bool_) if unless is None else unless
        self.fault_where(np.isnan(value) & ~skip, name, "not a number", f"a number from {least:g} upwards")
        self.fault_where(value < least, name, f"below {least:g}", f"a number from {least:g} upwards")
        self._unread[name] = ~(value >= least) & ~skip
        return np.where(value >= least, value, least)

    def fault_where(self, bad: Bools, name: str, problem: str, expected: str) -> None:
        for row in np.flatnonzero(bad):
            found = self.table[name][int(row)].as_py()
            self.faults.append(Fault(self.file, int(self.line[row]), name, f"{problem}: {found!r}", expected))


def _times(reading: _Reading, *, strict: bool) -> tuple[Floats, Floats, Bools]:
    """Start and duration of each task, and which have none because they did not finish."""
    status = reading.table["status"]
    open_end = reading.blank("start_time") | reading.blank("end_time") | reading.blank("instance_num")
    start_s = reading.number("start_time", least=0, unless=open_end)
    end_s = reading.number("end_time", least=0, unless=open_end)
    unfinished = open_end | np.asarray(pc.not_equal(status, "Terminated")) | (end_s < start_s) | (start_s == 0)
    if strict:
        reading.fault_where(unfinished, "status", "task did not finish at a known time", "status Terminated, two times")
    return start_s, np.where(unfinished, 0.0, end_s - start_s), unfinished


def _read_table(file: Path) -> tuple[pa.Table, Ints, list[Fault]]:
    def refuse(row: int | None, problem: str, expected: str) -> InvalidWorkload:
        return InvalidWorkload([Fault(str(file), row, None, problem, expected)])

    try:
        data = file.read_bytes()
    except OSError as error:
        raise refuse(None, f"cannot be read: {error.strerror}", "a CSV file") from None
    if not data.strip():
        raise refuse(None, "empty file", "a CSV file with at least one row")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise refuse(row, f"wrong encoding: byte {error.start} is not UTF-8", "UTF-8 text") from None
    first = data[: data.find(b"\n")] if b"\n" in data else data
    columns = _LAYOUTS.get(first.count(b",") + 1)
    if columns is None:
        expected = f"{len(SAMPLE)} (the hour sample) or {len(ORIGINAL)} (batch_task.csv), without a header line"
        raise refuse(1, f"{first.count(b',') + 1} columns", expected)
    skipped: list[tuple[int, str]] = []
    table = csv.read_csv(
        pa.BufferReader(data),
        read_options=csv.ReadOptions(column_names=list(columns), use_threads=False),
        parse_options=csv.ParseOptions(
            quote_char=False, ignore_empty_lines=False, invalid_row_handler=_collector(skipped)
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False, null_values=[]
        ),
    )
    faults = [
        Fault(str(file), row, None, f"{text.count(',') + 1} columns: {text[:60]!r}", f"{len(columns)}")
        for row, text in skipped
        if text.strip()
    ]
    line = _lines(table.num_rows, [row for row, _ in skipped])
    written = np.any([np.asarray(pc.not_equal(table[name], "")) for name in columns], axis=0)  # no blank line
    return table.filter(pa.array(written)), line[written], faults


def _collector(skipped: list[tuple[int, str]]) -> Callable[[csv.InvalidRow], str]:
    def handle(row: csv.InvalidRow) -> str:
        skipped.append((int(row.number), row.text))
        return "skip"

    return handle


def _lines(num_rows: int, skipped: list[int]) -> Ints:
    """Line of each row that was read, given the lines that were not."""
    every = np.arange(1, num_rows + len(skipped) + 1)
    return np.delete(every, np.array(skipped, dtype=np.int64) - 1)
