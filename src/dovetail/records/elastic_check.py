"""Do the tables of an elastic run agree with each other?  A file can be whole and still have been written wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.dag import Bools, Ints
from dovetail.core.errors import RecordError

if TYPE_CHECKING:
    from dovetail.records.elastic import ElasticRun


def check_run(directory: Path, run: ElasticRun) -> None:
    """Check every range that readers index by, or raise a `RecordError` that names file, row and column."""
    jobs, demands, hosts, allocations, decisions = run.jobs, run.demands, run.hosts, run.allocations, run.decisions

    def require(table: str, columns: str, fine: Bools, expected: str) -> None:
        wrong = np.flatnonzero(~fine)
        if wrong.size:
            row = int(wrong[0])
            found = ", ".join(f"{name} {getattr(getattr(run, table), name)[row]}" for name in columns.split())
            file = directory / f"{table}.parquet"
            raise RecordError(f"{file}, row {row}, column {columns.split()[0]!r}: {found}; expected {expected}")

    def inside(table: str, column: str, values: Ints, low: int, high: int) -> None:
        require(table, column, (values >= low) & (values < high), f"{low} to {high - 1}")

    inside("jobs", "arrival", jobs.arrival, 0, run.slots)
    for name in ("rejected", "promise", "finish"):
        inside("jobs", name, getattr(jobs, name), -1, run.slots)
    late = (jobs.finish < 0) | (jobs.finish >= jobs.arrival)
    require("jobs", "finish arrival", late, "a slot not before that of the arrival (-1: not finished)")
    require("jobs", "work", jobs.work >= 1, "1 or more")
    require("jobs", "utility", np.isfinite(jobs.utility), "a finite number")
    paired = np.arange(2 * len(jobs))
    if not (np.array_equal(demands.job, paired // 2) and np.array_equal(demands.role, paired % 2)):
        file = directory / "demands.parquet"
        raise RecordError(f"{file}: expected two rows for each job, its worker (role 0), then its server (role 1)")
    inside("hosts", "role", hosts.role, 0, 2)
    count = np.bincount(hosts.role, minlength=2)
    numbers = np.concatenate([np.arange(number) for number in count])
    if not (np.all(np.diff(hosts.role) >= 0) and np.array_equal(hosts.host, numbers) and count.all()):
        file = directory / "hosts.parquet"
        raise RecordError(f"{file}: expected hosts 0, 1, ... of role 0, then those of role 1, at least one of each")
    inside("allocations", "slot", allocations.slot, 0, run.slots)
    inside("allocations", "job", allocations.job, 0, len(jobs))
    inside("allocations", "role", allocations.role, 0, 2)
    fine = (allocations.host >= 0) & (allocations.host < count[allocations.role])
    require("allocations", "host role", fine, f"one of {count[0]} hosts of role 0 or {count[1]} of role 1")
    require("allocations", "amount", allocations.amount >= 1, "1 or more")
    inside("decisions", "slot", decisions.slot, 0, run.slots)
    inside("decisions", "job", decisions.job, 0, len(jobs))
    for name in ("promise", "last_slot"):
        inside("decisions", name, getattr(decisions, name), -1, run.slots)
