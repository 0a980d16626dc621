"""What readers of gpu traces have in common: rows become a recorded workload, and what traces do not say is filled in.

Traces of clusters do not say what is trained.  Unless a kind is given for all, kinds are drawn with a seed, as popular
as in the generator; jobs without GPUs are of the kind `cpu`.  A kind must be one that speeds are known of: the shipped
ones, or those of a file (`speeds`), with which such a workload is then run.  Where nobody estimated how long a job
takes, its estimate is its work times a lognormal error, drawn with the same seed.  How long a job ran, on whatever GPU,
counts as its work at speed 1.  Jobs are sorted by arrival and the first comes at 0.  Jobs that do not fit the cluster
when it is empty are left out.  All of this is counted in notes.  A part of the trace (`start`, `end`) has the jobs of
the whole as they are: it is cut out after everything is drawn.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_clusters import read_cluster
from dovetail.cluster.gpu_speed import CPU_KIND, default_speeds
from dovetail.cluster.gpu_speed_file import read_speeds
from dovetail.core.delimited import refusal
from dovetail.core.errors import ConfigError, Fault, InvalidWorkload
from dovetail.core.suggest import did_you_mean
from dovetail.workloads.generate.gpu_cloud import GpuCloud
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_alone import fits
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_check import job_faults
from dovetail.workloads.gpu_schema import ANY_TYPE, JOB_COLUMNS
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.gpu_tables import record_from_table
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.readers.time_slice import read_moment, time_slice
from dovetail.workloads.tables import make_table


@dataclass(frozen=True)
class GpuReadOptions:
    """What the person who imports may say."""

    cluster: str | None = None  # none: that of the trace, or the reader's own
    kind: str | None = None  # of all jobs with GPUs; none: drawn
    speeds: Path | None = None  # whose kinds of training there are; none: those of the shipped speeds
    longest_s: float | None = None  # longer jobs are left out: services, in traces that have them
    seed: int = 0
    error_sigma: float = 0.5
    cpus_per_gpu: float = 4.0  # where the trace does not say
    memory_per_gpu: float = 32.0  # GB, the same
    start: str | None = None  # a moment, see `time_slice`; none: with the first job
    end: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.error_sigma <= 10:
            raise ConfigError(f"error sigma is {self.error_sigma:g}; expected 0 to 10")
        if self.longest_s is not None and not self.longest_s > 0:
            raise ConfigError(f"the longest job takes {self.longest_s:g} s; expected above 0")
        if not (self.cpus_per_gpu > 0 and self.memory_per_gpu > 0):
            raise ConfigError("processors and memory for each GPU must be above 0")
        if self.kind is not None and not self.kind.strip():
            raise ConfigError("the kind of training has no name")
        for option, moment in (("--from", self.start), ("--to", self.end)):
            if moment is not None:
                read_moment(option, moment)


@dataclass(frozen=True)
class GpuRow:
    """A job as it was found; demands are of one worker."""

    file: str
    line: int
    name: str
    arrival_s: float
    work_s: float
    workers: int = 1
    gpus: float = 0.0
    cpus: float = 0.0
    memory: float = 0.0
    user: str = "unknown"
    types: str = ANY_TYPE
    estimate_s: float | None = None
    kind: str | None = None


def finish(
    name: str,
    rows: Sequence[GpuRow],
    faults: list[Fault],
    options: GpuReadOptions,
    *,
    cluster: GpuCluster | None,
    otherwise: str,
    notes: Sequence[str] = (),
) -> Imported[GpuSource]:
    """The jobs as a recorded source; `cluster` is the trace's own, `otherwise` the one to take where it has none."""
    notes = [*notes]
    if options.longest_s is not None:
        longer = sum(row.work_s > options.longest_s for row in rows)
        rows = [row for row in rows if row.work_s <= options.longest_s]
        notes += counted(longer, f"jobs ran longer than {options.longest_s:g} s and were left out")
    if not rows and not faults:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise InvalidWorkload([Fault(name, None, None, f"no jobs that ran{why}", "at least one")])
    rows = sorted(rows, key=lambda row: row.arrival_s)
    table = _table(rows, options)
    faults += _kind_faults(rows, table["kind"].to_pylist(), options)
    for fault in job_faults("", table):
        assert fault.row is not None
        row, problem = rows[fault.row], fault.problem
        if fault.field == "job":  # rows of a sorted table mean nothing to the reader of the message
            problem = f"this name is there twice: {row.name}"
        faults.append(Fault(row.file, row.line, fault.field, problem, fault.expected))
    if faults:
        raise InvalidWorkload(sorted(faults, key=lambda fault: (fault.file, fault.row or 0)))
    chosen = cluster if options.cluster is None else read_cluster(options.cluster)
    if chosen is None:
        chosen = read_cluster(otherwise)
        notes.append(f"the trace says nothing of machines: the cluster is {otherwise!r} (--cluster takes another)")
    whole = record_from_table(table)
    part = _part(name, whole, options, notes)
    cut = whole.take(part)
    record = _fitting(name, replace(cut, arrival_s=cut.arrival_s - cut.arrival_s[0]), chosen, notes)
    notes += _filled_in(rows[part], options)
    return Imported(GpuSource(name, record.num_jobs, chosen, GpuArrivals("trace"), recorded=record), tuple(notes))


def _table(rows: Sequence[GpuRow], options: GpuReadOptions) -> pa.Table:
    start_s = rows[0].arrival_s if rows else 0.0
    rng = np.random.default_rng(options.seed)
    kinds, popularity = _kinds()
    drawn = np.searchsorted(popularity, rng.random(len(rows)), side="right")
    error = np.exp(options.error_sigma * rng.standard_normal(len(rows)))
    kind, estimate_s = [], []
    for place, row in enumerate(rows):
        kind.append(
            row.kind or (CPU_KIND if row.gpus == 0 else options.kind or kinds[min(drawn[place], len(kinds) - 1)])
        )
        estimate_s.append(row.work_s * float(error[place]) if row.estimate_s is None else row.estimate_s)
    return make_table(
        JOB_COLUMNS,
        [row.name for row in rows],
        [row.arrival_s - start_s for row in rows],
        [row.user for row in rows],
        kind,
        [row.workers for row in rows],
        [row.gpus for row in rows],
        [row.cpus for row in rows],
        [row.memory for row in rows],
        [row.types for row in rows],
        [row.work_s for row in rows],
        estimate_s,
    )


def _kind_faults(rows: Sequence[GpuRow], kinds: Sequence[str], options: GpuReadOptions) -> list[Fault]:
    """Of rows that name a kind without speeds.  What is said for all, or drawn, is the importing person's affair."""
    known = (default_speeds() if options.speeds is None else read_speeds(options.speeds)).kind_name
    whose = "the shipped speeds, or --speeds FILE with your own" if options.speeds is None else f"{options.speeds}"
    if options.kind is not None and options.kind not in known:
        raise ConfigError(
            f"--kind {options.kind!r}: unknown{did_you_mean(options.kind, known)}; expected one of {whose}"
        )
    faults = []
    for row, kind in zip(rows, kinds, strict=True):
        if kind in known:
            continue
        if row.kind is None:
            raise ConfigError(
                f"{row.file}:{row.line}: what it trains is not said, and {kind!r}, which was drawn, is not in {whose}; "
                "--kind names one for all such jobs"
            )
        problem = f"no speeds are known of {kind!r}{did_you_mean(kind, known)}"
        faults.append(Fault(row.file, row.line, "kind", problem, f"a kind of {whose}"))
    return faults


def _kinds() -> tuple[tuple[str, ...], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Kinds with GPUs, and where their shares of the popularity end."""
    generator = GpuCloud()
    names, share = generator.kind_names(), generator.popularity()
    return names, np.cumsum(share) / share.sum()


def _part(name: str, record: GpuWorkload, options: GpuReadOptions, notes: list[str]) -> slice:
    """The jobs that are asked for."""
    part = time_slice(record.arrival_s, options.start, options.end)
    count = part.stop - part.start
    if count == 0:
        until = "the end" if options.end is None else options.end
        problem = f"no jobs came from {options.start or 0} to {until}, of {record.arrival_s[-1]:,.0f} s in all"
        raise InvalidWorkload([Fault(name, None, None, problem, "at least one")])
    if count < record.num_jobs:
        first_s, last_s = record.arrival_s[part.start], record.arrival_s[part.stop - 1]
        notes.append(
            f"{count:,} of {record.num_jobs:,} jobs are of this part: those that came {first_s:,.0f} to {last_s:,.0f} "
            "s after the first"
        )
    return part


def _fitting(name: str, record: GpuWorkload, cluster: GpuCluster, notes: list[str]) -> GpuWorkload:
    fit = fits(record, cluster)
    if not fit.any():
        problem = f"none of the {record.num_jobs:,} jobs fits the cluster, even empty"
        raise InvalidWorkload([Fault(name, None, None, problem, "larger machines (--cluster)")])
    if fit.all():
        return record
    first = record.job_name[int(np.flatnonzero(~fit)[0])]
    notes.append(
        f"{int((~fit).sum()):,} jobs that do not fit the cluster even when it is empty were left out, {first} first"
    )
    return record.take(np.flatnonzero(fit))


def _filled_in(rows: Sequence[GpuRow], options: GpuReadOptions) -> list[str]:
    notes = []
    nameless = sum(row.kind is None and row.gpus > 0 for row in rows)
    if nameless and options.kind is None:
        notes.append(
            f"what {nameless:,} jobs train is not said: kinds are drawn (seed {options.seed}; --kind names one)"
        )
    guessed = sum(row.estimate_s is None for row in rows)
    if guessed:
        notes.append(
            f"nobody estimated how long {guessed:,} jobs take: estimates are work x lognormal error "
            f"(sigma {options.error_sigma:g}, seed {options.seed})"
        )
    return notes


def table_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line by line, by column: named by a header line that has them all, or else in this order without one.

    Files may be large, so they are not read as a whole.  A row with another number of values is `short` by its count.
    """
    if not file.is_file():
        raise refusal(file, None, "no such file", f"a CSV file with {', '.join(columns)}")
    if file.stat().st_size == 0:
        raise refusal(file, None, "empty file", f"a CSV file with {', '.join(columns)}")
    line = 1
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            header: list[str] | None = None
            for values in reader:
                line = reader.line_num
                if not any(values):
                    continue
                if header is None:
                    named = [value.strip() for value in values]
                    if set(columns) <= set(named):
                        header = named
                        continue
                    if any(name in columns for name in named):
                        missing = ", ".join(name for name in columns if name not in named)
                        raise refusal(file, line, f"missing columns: {missing}", f"a header with {', '.join(columns)}")
                    header = list(columns)
                row = dict(zip(header, (value.strip() for value in values), strict=False))
                if len(values) != len(header):
                    row["short"] = f"{len(values)} values; {len(header)} columns"
                yield line, row
    except csv.Error as error:
        raise refusal(file, line, f"not readable as CSV: {error}", "values between commas") from None
    except UnicodeDecodeError:
        raise refusal(file, None, f"wrong encoding after line {line}: not UTF-8", "UTF-8 text") from None
    except OSError as error:
        raise refusal(file, None, f"cannot be read: {error.strerror}", "a CSV file") from None


class Numbers:
    """Reads numbers out of rows of text and collects what is wrong with them."""

    def __init__(self, file: str, faults: list[Fault]) -> None:
        self.file = file
        self.faults = faults

    def get(
        self, line: int, row: dict[str, str], name: str, default: float | None = None, *, least: float = 0.0
    ) -> float | None:
        """The number in this column; `default` where it is empty, and None with a fault where it is none."""
        text = row.get(name, "")
        if text == "" and default is not None:
            return default
        try:
            value = math.nan if "_" in text else float(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            expected = f"a number from {least:g} upwards" if least == 0 or least >= 1 else "a number above 0"
            self.refuse(line, name, _not_so(text, value), expected)
            return None
        return value

    def refuse(self, line: int, name: str | None, problem: str, expected: str) -> None:
        self.faults.append(Fault(self.file, line, name, problem, expected))


def _not_so(text: str, value: float) -> str:
    """What is wrong with a number that is refused."""
    if math.isnan(value):
        return f"not a number: {text!r}" if text else "missing"
    return "not finite" if math.isinf(value) else f"too small: {text}"


def whole_gpus(gpus: float) -> float:
    """A worker has a share of one GPU or whole ones: more than one is rounded up."""
    return gpus if gpus <= 1 else float(math.ceil(gpus - 1e-9))


def counted(count: int, what: str) -> list[str]:
    """A note about so many of something, if there are any."""
    return [f"{count:,} {what}"] if count else []
