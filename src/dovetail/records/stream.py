"""One run of the stream family in full: its jobs and operators, every interval of both, every decision, and snapshots.

Numbers name things as the workload does: operators of all jobs are counted job by job.  Interval i lasts from
`interval_start_s[i]` for `interval_s` seconds and begins with a decision; the first interval of a run, before anything
was decided, is not in it.  Tables of intervals have a row for each job, or operator, of each interval, in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from dovetail.core.stream import REASON_TEXT, Bools, Floats, Ints, Reason
from dovetail.records.run import Run
from dovetail.records.stream_check import check_run

HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class StreamJobRows:
    """The jobs; row j is job j."""

    SCHEMA: ClassVar = {
        "job": "int32",
        "name": "string",
        "slo_s": "float64",
        "restart_s": "float64",
        "checkpoint_s": "float64",
    }
    INDEX: ClassVar = "job"

    name: tuple[str, ...]  # (J,)
    slo_s: Floats  # (J,) latency that its users wait for without complaint
    restart_s: Floats  # (J,) how long it stands still when it is rescaled, its state included
    checkpoint_s: Floats  # (J,) between two checkpoints

    def __len__(self) -> int:
        return len(self.name)

    @property
    def job(self) -> Ints:
        return np.arange(len(self.name))


@dataclass(frozen=True, eq=False)
class StreamOperatorRows:
    """The operators; row o is operator o."""

    SCHEMA: ClassVar = {
        "operator": "int32",
        "name": "string",
        "job": "int32",
        "service_s": "float64",
        "gain": "float64",
        "skew": "float64",
        "state_mb": "float64",
        "most": "int32",
    }
    INDEX: ClassVar = "operator"

    name: tuple[str, ...]  # (O,)
    job: Ints  # (O,) non-decreasing
    service_s: Floats  # (O,) time of one instance for one record
    gain: Floats  # (O,) records that come to it for each record that arrives at its job
    skew: Floats  # (O,) share of its records that all go to one instance
    state_mb: Floats  # (O,)
    most: Ints  # (O,) instances at most

    def __len__(self) -> int:
        return len(self.name)

    @property
    def operator(self) -> Ints:
        return np.arange(len(self.name))


@dataclass(frozen=True, eq=False)
class StreamEdgeRows:
    """Who feeds whom, in order of those who are fed."""

    SCHEMA: ClassVar = {"origin": "int32", "target": "int32"}
    INDEX: ClassVar = None

    origin: Ints  # (E,) operator
    target: Ints  # (E,) operator, above `origin`

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True, eq=False)
class StreamIntervalRows:
    """What became of every job in every interval: interval by interval, job by job."""

    SCHEMA: ClassVar = {
        "interval": "int32",
        "job": "int32",
        "start_s": "float64",
        "latency_s": "float64",
        "utilisation": "float64",
        "reward": "float64",
        "arrived": "float64",
        "delivered": "float64",
        "lag": "float64",
        "down_s": "float64",
        "rescaled": "bool",
    }
    INDEX: ClassVar = None

    interval: Ints  # (I J,)
    job: Ints  # (I J,)
    start_s: Floats  # (I J,)
    latency_s: Floats  # (I J,) mean of what was delivered, or the age of the oldest record where nothing was
    utilisation: Floats  # (I J,) mean over its operators of the time that instances were busy, 0 .. 1
    reward: Floats  # (I J,) see `core.stream.reward`
    arrived: Floats  # (I J,) records
    delivered: Floats  # (I J,) records that left the last sink
    lag: Floats  # (I J,) records that had arrived and not left, at the end
    down_s: Floats  # (I J,) that it stood still
    rescaled: Bools  # (I J,) the decision at the start of the interval changed its parallelism

    def __len__(self) -> int:
        return len(self.interval)


@dataclass(frozen=True, eq=False)
class StreamOperatorIntervalRows:
    """What every operator did in every interval: interval by interval, operator by operator."""

    SCHEMA: ClassVar = {
        "interval": "int32",
        "operator": "int32",
        "parallelism": "int32",
        "busy": "float64",
        "blocked": "float64",
        "rate": "float64",
        "queued": "float64",
    }
    INDEX: ClassVar = None

    interval: Ints  # (I O,)
    operator: Ints  # (I O,)
    parallelism: Ints  # (I O,) instances
    busy: Floats  # (I O,) share of the time of its instances
    blocked: Floats  # (I O,) share of it in which nobody took what it had to send
    rate: Floats  # (I O,) records processed a second
    queued: Floats  # (I O,) records waiting at it or in it, at the end

    def __len__(self) -> int:
        return len(self.interval)


@dataclass(frozen=True, eq=False)
class StreamDecisionRows:
    """Every change of an operator, in the order decided."""

    SCHEMA: ClassVar = {
        "interval": "int32",
        "operator": "int32",
        "before": "int32",
        "after": "int32",
        "reason": "int32",
        "demand": "float64",
    }
    INDEX: ClassVar = None

    interval: Ints  # (D,) that begins with it
    operator: Ints  # (D,)
    before: Ints  # (D,) instances
    after: Ints  # (D,)
    reason: Ints  # (D,) code of core.stream.Reason
    demand: Floats  # (D,) instances that would be busy all the time, by the scheduler; nan = not said

    def __len__(self) -> int:
        return len(self.interval)


@dataclass(frozen=True, eq=False)
class StreamSnapshotRows:
    """What was measured of every job in every snapshot: snapshot by snapshot, job by job, from the very start."""

    SCHEMA: ClassVar = {
        "end_s": "float64",
        "job": "int32",
        "rate": "float64",
        "latency_s": "float64",
        "lag": "float64",
        "down_share": "float64",
    }
    INDEX: ClassVar = None

    end_s: Floats  # (S J,)
    job: Ints  # (S J,)
    rate: Floats  # (S J,) records that arrived a second
    latency_s: Floats  # (S J,)
    lag: Floats  # (S J,) at the end
    down_share: Floats  # (S J,) of the time

    def __len__(self) -> int:
        return len(self.end_s)


@dataclass(frozen=True, eq=False)
class StreamDelayRows:
    """The histogram of delays from arrival to delivery: job by job; classes without records are left out."""

    SCHEMA: ClassVar = {"job": "int32", "from_s": "float64", "to_s": "float64", "records": "float64"}
    INDEX: ClassVar = None

    job: Ints  # (H,)
    from_s: Floats  # (H,)
    to_s: Floats  # (H,) inf = no bound
    records: Floats  # (H,)

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamRun(Run):
    """A scheduler's run over what came to its jobs."""

    FAMILY = "stream"
    TABLES: ClassVar = {
        "jobs": StreamJobRows,
        "operators": StreamOperatorRows,
        "edges": StreamEdgeRows,
        "intervals": StreamIntervalRows,
        "operator_intervals": StreamOperatorIntervalRows,
        "decisions": StreamDecisionRows,
        "snapshots": StreamSnapshotRows,
        "delays": StreamDelayRows,
    }
    FACTS: ClassVar = {"interval_s": float, "snapshot_s": float, "slots": int}

    interval_s: float
    snapshot_s: float
    slots: int  # instances of all operators together, at most
    jobs: StreamJobRows
    operators: StreamOperatorRows
    edges: StreamEdgeRows
    intervals: StreamIntervalRows
    operator_intervals: StreamOperatorIntervalRows
    decisions: StreamDecisionRows
    snapshots: StreamSnapshotRows
    delays: StreamDelayRows

    @property
    def job_names(self) -> tuple[str, ...]:
        return self.jobs.name

    @property
    def num_intervals(self) -> int:
        return len(self.intervals) // max(len(self.jobs), 1)

    @property
    def end_s(self) -> float:
        return float(self.interval_start_s[-1] + self.interval_s) if self.num_intervals else 0.0

    @cached_property
    def interval_start_s(self) -> Floats:
        """(I,)"""
        start_s: Floats = self.of_jobs("start_s")[:, 0]
        return start_s

    @property
    def parallelism(self) -> Ints:
        """(I, O) instances."""
        return self.operator_intervals.parallelism.reshape(-1, len(self.operators))

    def of_jobs(self, column: str) -> Floats:
        """(I, J) a column of `intervals`."""
        values: Floats = getattr(self.intervals, column).reshape(-1, len(self.jobs))
        return values

    def of_operators(self, column: str) -> Floats:
        """(I, O) a column of `operator_intervals`."""
        values: Floats = getattr(self.operator_intervals, column).reshape(-1, len(self.operators))
        return values

    def of_snapshots(self, column: str) -> Floats:
        """(S, J) a column of `snapshots`."""
        values: Floats = getattr(self.snapshots, column).reshape(-1, len(self.jobs))
        return values

    def operators_of(self, job: int) -> Ints:
        """The operators of one job."""
        return np.flatnonzero(self.operators.job == job)

    def check(self, directory: Path) -> None:
        check_run(directory, self)

    @property
    def trace_threads(self) -> int:
        """Decisions, then the jobs, then the operators."""
        return 1 + len(self.jobs) + len(self.operators)

    def trace(self, label: str, process: int, first_thread: int) -> Iterator[str]:
        from dovetail.records.perfetto_stream import run_events

        return run_events(label, self, process, first_thread)


def reason_text(code: int) -> str:
    """The text of a reason; a code from a later version is shown as it is."""
    try:
        return REASON_TEXT[Reason(code)]
    except (ValueError, KeyError):
        return f"reason {code}"


def instance_words(amount: float) -> str:
    """`3 instances`, `1 instance`."""
    return f"{amount:,.4g} instance{'' if amount == 1 else 's'}"
