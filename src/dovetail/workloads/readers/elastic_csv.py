"""Reader of a plain table of elastic jobs: a CSV file with a header line, a job in each further line.

Columns in any order, blank lines and a byte-order mark are fine.  Needed are

    epochs, chunks, batches   whole numbers from 1: passes over the data, chunks of it, mini-batches of a chunk
    batch_s                   seconds that a worker takes for a mini-batch

and these may be missing, as a column or in single rows:

    job                       name, unique (job-1, job-2, ...)
    arrival                   slot from 0 (0); or `arrival_s` in seconds, but not both
    gradient_mb               MB of gradients, sent to the servers and fetched as parameters with every mini-batch (0)
    worker_gpu, worker_cpu, worker_memory, worker_storage, worker_bandwidth
                              demand of a worker: devices (0), processors (1), GB (0), GB (0), Gbit/s (1)
    server_cpu, server_memory, server_storage, server_bandwidth, server_gpu
                              demand of a parameter server: processors (1), GB (0), GB (0), Gbit/s (the worker's), 0
    worth, decay, due         utility worth / (1 + exp(decay (delay - due))), delay and due in slots (1, 0, 0)

Other columns are ignored and named in a note; those whose names are next to one of these are refused.  Jobs are put in
order of arrival.  Nothing else is repaired.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.core.delimited import read_text, refusal, split_rows
from dovetail.core.elastic import Ints
from dovetail.core.errors import ConfigError, Fault, InvalidWorkload
from dovetail.workloads.elastic_alone import never_fit
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_check import job_faults
from dovetail.workloads.elastic_schema import INTEGERS, JOB_COLUMNS, NUMBERS
from dovetail.workloads.elastic_setting import MAX_SERVERS, MAX_SLOT_S, MAX_SLOTS
from dovetail.workloads.elastic_source import ElasticSource
from dovetail.workloads.elastic_tables import record_from_table
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.tables import make_table

NEEDED = ("epochs", "chunks", "batches", "batch_s")
DEFAULTS = {
    **dict.fromkeys((*INTEGERS, *NUMBERS), 0.0),
    "worker_cpu": 1.0,
    "server_cpu": 1.0,
    "worker_bandwidth": 1.0,
    "worth": 1.0,
}
KNOWN = ("job", "arrival_s", *INTEGERS, *NUMBERS)
NEAR = 0.85  # of two names of a column: one letter of seven may differ
_MOST = 2**53  # of a whole number: beyond, one cannot be told from the next


@dataclass(frozen=True)
class ElasticCsvOptions:
    """The setting that the jobs are for; none: as many slots as the arrivals need and half as many again."""

    slot_s: float = 1200.0
    slots: int | None = None
    servers: int = 20

    def __post_init__(self) -> None:
        if not 0 < self.slot_s <= MAX_SLOT_S:
            raise ConfigError(f"slot length is {self.slot_s:g}; expected seconds above 0, {MAX_SLOT_S:g} at most")
        if self.slots is not None and not 1 <= self.slots <= MAX_SLOTS:
            raise ConfigError(f"slots are {self.slots}; expected 1 to {MAX_SLOTS:,}")
        if not 2 <= self.servers <= MAX_SERVERS:
            raise ConfigError(f"servers are {self.servers}; expected 2 to {MAX_SERVERS:,}")


def read_elastic_csv(path: Path, options: ElasticCsvOptions = ElasticCsvOptions()) -> Imported[ElasticSource]:
    """The jobs in this file as a recorded sequence."""
    rows = split_rows(path, read_text(path, "a CSV file with a header line and a job in each further line"))
    (_, header), body = rows[0], rows[1:]
    header = [name.lower() for name in header]
    faults = _header_faults(path, rows[0][0], header)
    if faults:
        raise InvalidWorkload(faults)
    if not body:
        raise refusal(path, None, "no jobs: there is a header line only", "at least one job")
    reading = _Reading(str(path), header, faults)
    jobs = [reading.job(line, values) for line, values in body]
    slot = reading.arrivals([line for line, _ in body], jobs, options.slot_s)
    order = np.argsort(slot, kind="stable")
    lines = [body[row][0] for row in order]
    table = _table([jobs[row] for row in order], [f"job-{row + 1}" for row in order], slot[order])
    for fault in job_faults(str(path), table, options.slot_s):
        assert fault.row is not None
        line, problem = lines[fault.row], fault.problem
        if fault.field == "job":  # rows of a sorted table mean nothing to the reader of the message
            problem = f"this name is there twice: {table['job'][fault.row].as_py()}"
        if (line, fault.field) not in reading.unread:
            faults.append(Fault(fault.file, line, fault.field, problem, fault.expected))
    if faults:
        raise InvalidWorkload(sorted(faults, key=lambda fault: fault.row or 0))
    slots = options.slots if options.slots is not None else min(int(slot.max() * 1.5) + 10, MAX_SLOTS)
    source = ElasticSource(
        name=path.stem or "elastic-csv",
        jobs=len(jobs),
        slots=slots,
        slot_s=options.slot_s,
        servers=options.servers,
        arrivals=ElasticArrivals("trace"),
        recorded=record_from_table(options.slot_s, table),
    )
    notes = _notes(header, order)
    notes += never_fit(source)
    if slot.max() >= slots:
        notes.append(f"the last job arrives in slot {slot.max():,}, after the {slots:,} slots of the horizon")
    return Imported(source, tuple(notes))


def _header_faults(path: Path, line: int, header: list[str]) -> list[Fault]:
    faults = []
    for name in NEEDED:
        if name not in header:
            problem = f"missing column; there are {', '.join(header)}"
            faults.append(Fault(str(path), line, name, problem, f"all of {', '.join(NEEDED)}"))
    for name in dict.fromkeys(header):
        if name in KNOWN and header.count(name) > 1:
            faults.append(Fault(str(path), line, name, f"{header.count(name)} columns of this name", "one"))
    for name in dict.fromkeys(header):
        meant = [] if name in KNOWN else _meant(name, header)
        if meant:
            problem = f"unknown column; did you mean {' or '.join(meant)}?"
            faults.append(Fault(str(path), line, name, problem, "a known column, or a name that is like none of them"))
    if "arrival" in header and "arrival_s" in header:
        faults.append(Fault(str(path), line, "arrival_s", "slots and seconds of arrival", "one of the two columns"))
    return faults


def _meant(name: str, header: list[str]) -> list[str]:
    """Known columns that are not there and that this one must be meant for: `gpuu` is a worker's or a server's."""
    from difflib import get_close_matches  # only needed for columns that mean nothing

    by_key: dict[str, list[str]] = {}
    for known in KNOWN:
        by_key.setdefault(known, []).append(known)
        role, _, resource = known.partition("_")
        if role in ("worker", "server"):
            by_key.setdefault(resource, []).append(known)
    free = [key for key, names in by_key.items() if not set(names) & set(header)]
    close = get_close_matches(name, free, n=2, cutoff=NEAR)
    return list(dict.fromkeys(known for key in close for known in by_key[key]))


class _Reading:
    """Turns values into numbers and notes what is wrong with them."""

    def __init__(self, file: str, header: list[str], faults: list[Fault]) -> None:
        self.file = file
        self.header = header
        self.faults = faults
        self.unread: set[tuple[int | None, str | None]] = set()

    def job(self, line: int, values: list[str]) -> dict[str, float | str]:
        """Numbers by column, 1 where they are faulty, and the name if there is one."""
        found: dict[str, float | str] = {}
        if len(values) != len(self.header):
            self._refuse(line, None, f"{len(values)} values", f"{len(self.header)}, as in the header")
            self.unread |= {(line, name) for name in KNOWN}
            return dict.fromkeys(NEEDED, 1.0)
        for name, text in zip(self.header, values, strict=True):
            if name == "job" and text:
                found[name] = text
            elif name in KNOWN and name != "job" and (text or name in NEEDED):
                found[name] = self._number(line, name, text)
        return found

    def arrivals(self, lines: list[int], jobs: list[dict[str, float | str]], slot_s: float) -> Ints:
        slots = np.zeros(len(jobs), dtype=np.int64)
        for place, (line, job) in enumerate(zip(lines, jobs, strict=True)):
            name = "arrival_s" if "arrival_s" in job else "arrival"
            value = float(job.get(name, 0.0)) / (slot_s if name == "arrival_s" else 1.0)
            if value >= MAX_SLOTS:
                value = self._unread(line, name, f"slot {value:,.0f}", f"before slot {MAX_SLOTS:,}; longer slots help")
            slots[place] = math.floor(value + 1e-9)
        return slots

    def _number(self, line: int, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        whole = name in INTEGERS
        if "_" in text or not math.isfinite(value):
            return self._unread(line, name, f"not a number: {text!r}", "a whole number" if whole else "a number")
        if whole and (value != math.floor(value) or abs(value) > _MOST):
            return self._unread(line, name, f"not a whole number: {text!r}", "1, 2, 3, ...")
        if name in ("arrival", "arrival_s") and value < 0:
            return self._unread(line, name, f"negative arrival: {text!r}", "0 or later")
        return value

    def _unread(self, line: int, name: str, problem: str, expected: str) -> float:
        self.unread.add((line, name))
        self._refuse(line, name, problem, expected)
        return 1.0

    def _refuse(self, line: int, name: str | None, problem: str, expected: str) -> None:
        self.faults.append(Fault(self.file, line, name, problem, expected))


def _table(jobs: list[dict[str, float | str]], names: list[str], slot: Ints) -> pa.Table:
    columns: list[object] = [[job.get("job", name) for job, name in zip(jobs, names, strict=True)], slot]
    for name in (*INTEGERS[1:], *NUMBERS):
        values = np.array([_value(job, name) for job in jobs])
        columns.append(values.astype(np.int64) if name in INTEGERS else values)
    return make_table(JOB_COLUMNS, *columns)


def _value(job: dict[str, float | str], name: str) -> float:
    if name == "server_bandwidth" and name not in job:
        return _value(job, "worker_bandwidth")
    return float(job.get(name, DEFAULTS[name]))


def _notes(header: list[str], order: Ints) -> list[str]:
    notes = []
    ignored = [name for name in header if name not in KNOWN]
    if ignored:
        notes.append(f"columns that mean nothing here were ignored: {', '.join(ignored)}")
    missing = [name for name in (*NUMBERS, "arrival") if name not in header and name not in NEEDED]
    if "arrival_s" in header:
        missing.remove("arrival")
    if missing:
        notes.append(f"columns that are not there have their defaults: {', '.join(missing)}")
    if (np.diff(order) < 0).any():
        notes.append("jobs were put in order of arrival")
    return notes
