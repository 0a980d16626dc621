"""Do the tables of a stream run agree with each other?  A file can be whole and still have been written wrongly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.core.stream import Bools, Ints

if TYPE_CHECKING:
    from dovetail.records.stream import StreamRun

_AMOUNTS = {
    "jobs": ("restart_s",),
    "operators": ("service_s", "gain", "skew", "state_mb"),
    "intervals": ("latency_s", "arrived", "delivered", "lag", "down_s"),
    "operator_intervals": ("rate", "queued"),
    "snapshots": ("rate", "latency_s", "lag", "down_share"),
    "delays": ("from_s", "records"),
}
_SHARES = {"intervals": ("utilisation",), "operator_intervals": ("busy", "blocked")}
_ROUNDING = 1e-6


def check_run(directory: Path, run: StreamRun) -> None:
    """Check every range that readers index by, or raise a `RecordError` that names file, row and column."""
    tables = _Tables(directory, run)
    for table in ("jobs", "operators", "intervals"):
        if not len(getattr(run, table)):
            raise RecordError(f"{tables.file(table)}: no rows; expected at least one")
    _check_work(tables, run)
    _check_intervals(tables, run)
    for table, columns in _AMOUNTS.items():
        for column in columns:
            values = tables.column(table, column)
            tables.require(table, column, (values >= 0) & np.isfinite(values), "a number from 0")
    for table, columns in _SHARES.items():
        for column in columns:
            values = tables.column(table, column)
            tables.require(table, column, (values >= 0) & (values <= 1 + _ROUNDING), "a share, 0 to 1")


def _check_work(tables: _Tables, run: StreamRun) -> None:
    """Jobs, operators and edges."""
    jobs, operators, edges = run.jobs, run.operators, run.edges
    tables.require("jobs", "slo_s", (jobs.slo_s > 0) & np.isfinite(jobs.slo_s), "a time above 0 s")
    tables.require("jobs", "checkpoint_s", jobs.checkpoint_s > 0, "a time above 0 s")
    tables.inside("operators", "job", len(jobs))
    tables.require("operators", "job", np.diff(operators.job, prepend=0) >= 0, "operators in order of their jobs")
    tables.require("operators", "most", operators.most >= 1, "1 or more")
    for column in ("origin", "target"):
        tables.inside("edges", column, len(operators))
    within = (edges.origin < edges.target) & (operators.job[edges.origin] == operators.job[edges.target])
    tables.require("edges", "origin target", within, "a lower operator of the same job")


def _check_intervals(tables: _Tables, run: StreamRun) -> None:
    """What happened over time."""
    jobs, operators, decisions, delays = len(run.jobs), len(run.operators), run.decisions, run.delays
    intervals = tables.in_turn("intervals", "job", jobs)
    if tables.in_turn("operator_intervals", "operator", operators) != intervals:
        where = tables.file("operator_intervals")
        raise RecordError(f"{where}: other intervals than those of jobs; expected {intervals} of every operator")
    tables.in_turn("snapshots", "job", jobs)
    for table, many in (("intervals", jobs), ("operator_intervals", operators)):
        counted = np.arange(intervals * many) // many
        tables.require(table, "interval", tables.column(table, "interval") == counted, "0, 1, ... in this order")
    start_s = run.intervals.start_s
    steady = np.isclose(start_s, start_s[0] + run.intervals.interval * run.interval_s)
    tables.require("intervals", "start_s interval", steady, f"intervals of {run.interval_s:g} s, one after the other")
    tables.require("intervals", "reward", np.isfinite(run.intervals.reward), "a finite number")
    tables.instances("operator_intervals", "parallelism", run)
    tables.inside("decisions", "interval", intervals)
    tables.require("decisions", "interval", np.diff(decisions.interval, prepend=0) >= 0, "decisions in order")
    tables.inside("decisions", "operator", operators)
    tables.instances("decisions", "before", run)
    tables.instances("decisions", "after", run)
    end_s = run.snapshots.end_s
    tables.require("snapshots", "end_s", np.isfinite(end_s) & (np.diff(end_s, prepend=0.0) >= 0), "times in order")
    tables.inside("delays", "job", jobs)
    tables.require("delays", "to_s from_s", delays.to_s > delays.from_s, "more than where the class begins")


@dataclass(frozen=True)
class _Tables:
    """The tables of a run, and where they stand."""

    directory: Path
    run: StreamRun

    def file(self, table: str) -> Path:
        return self.directory / f"{table}.parquet"

    def column(self, table: str, column: str) -> Any:
        return getattr(getattr(self.run, table), column)

    def require(self, table: str, columns: str, fine: Bools, expected: str) -> None:
        wrong = np.flatnonzero(~fine)
        if wrong.size:
            row = int(wrong[0])
            found = ", ".join(f"{name} {self.column(table, name)[row]}" for name in columns.split())
            where = f"{self.file(table)}, row {row}, column {columns.split()[0]!r}"
            raise RecordError(f"{where}: {found}; expected {expected}")

    def inside(self, table: str, column: str, high: int) -> None:
        values: Ints = self.column(table, column)
        self.require(table, column, (values >= 0) & (values < high), f"0 to {high - 1}")

    def in_turn(self, table: str, column: str, many: int) -> int:
        """A column goes from 0 to many - 1 again and again; how often."""
        values: Ints = self.column(table, column)
        if values.size % many:
            raise RecordError(f"{self.file(table)}: {values.size} rows; expected a multiple of {many}")
        self.require(table, column, values == np.arange(values.size) % many, f"0 to {many - 1} in turn")
        return values.size // many

    def instances(self, table: str, column: str, run: StreamRun) -> None:
        values: Ints = self.column(table, column)
        fine = (values >= 1) & (values <= run.operators.most[self.column(table, "operator")])
        self.require(table, f"{column} operator", fine, "1 to what the operator may have at most")
