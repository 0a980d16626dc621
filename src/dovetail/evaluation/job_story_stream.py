"""What the record of a stream run says about one job, put in order: its rescales, and the times it was late."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dovetail.core.stream import Floats, Ints
from dovetail.evaluation.metrics_stream import run_metrics
from dovetail.records.perfetto_stream import stretches
from dovetail.records.stream import StreamRun


class Rescale(NamedTuple):
    """The job was stopped to change its parallelism."""

    interval: int  # that begins with it
    start_s: float
    rows: Ints  # of `decisions`
    before: int  # instances of the whole job
    after: int
    down_s: float  # that it stood still in this interval
    latency_before_s: float  # of the last snapshot before, nan = there was none
    latency_after_s: float  # of the first snapshot after
    late_s: float  # how long latency stayed above the SLO from then on, within the interval


class Late(NamedTuple):
    """Intervals in a row whose latency was above the SLO."""

    first: int  # interval
    last: int
    start_s: float
    end_s: float
    latency_s: float  # mean over the intervals
    worst_s: float
    down_s: float
    lag: float  # at the end
    operator: int  # that held it up
    full: float  # share of its time that this operator could not have done more
    blocked: int  # operator that was blocked most by it, -1 = none was
    blocked_share: float


@dataclass(frozen=True, eq=False)
class JobStory:
    """The record of a run, seen from one job."""

    run: StreamRun
    job: int

    @cached_property
    def operators(self) -> Ints:
        return self.run.operators_of(self.job)

    @cached_property
    def instances(self) -> Ints:
        """(I,) of all its operators."""
        total: Ints = self.run.parallelism[:, self.operators].sum(axis=1)
        return total

    @property
    def slo_s(self) -> float:
        return float(self.run.jobs.slo_s[self.job])

    def of(self, column: str) -> Floats:
        """(I,) a column of its intervals."""
        own: Floats = self.run.of_jobs(column)[:, self.job]
        return own

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Of this job alone."""
        return run_metrics(self.run, self.job)

    @cached_property
    def rescales(self) -> tuple[Rescale, ...]:
        """In order."""
        return tuple(self._rescale(interval) for interval in np.flatnonzero(self.of("rescaled")).tolist())

    @cached_property
    def late(self) -> tuple[Late, ...]:
        """In order."""
        found = stretches(self.of("latency_s") > self.slo_s)
        return tuple(self._late(one.first, one.last) for one in found if one.value)

    def _rescale(self, interval: int) -> Rescale:
        run, decisions = self.run, self.run.decisions
        own = run.operators.job[decisions.operator] == self.job
        rows = np.flatnonzero(own & (decisions.interval == interval))
        change = int((decisions.after[rows] - decisions.before[rows]).sum())
        start_s = float(run.interval_start_s[interval])
        end_s: Floats = run.of_snapshots("end_s")[:, self.job]
        latency_s: Floats = run.of_snapshots("latency_s")[:, self.job]
        first, last = np.searchsorted(end_s, np.array([start_s, start_s + run.interval_s]) + 1e-6).tolist()
        fine = latency_s[first:last] <= self.slo_s
        late = int(np.argmax(fine)) if fine.any() else fine.size
        return Rescale(
            interval=interval,
            start_s=start_s,
            rows=rows,
            before=int(self.instances[interval]) - change,
            after=int(self.instances[interval]),
            down_s=float(self.of("down_s")[interval]),
            latency_before_s=float(latency_s[first - 1]) if first else float("nan"),
            latency_after_s=float(latency_s[first]) if last > first else float("nan"),
            late_s=float(end_s[first + late - 1] - start_s) if late else 0.0,
        )

    def _late(self, first: int, last: int) -> Late:
        run, rows = self.run, slice(first, last + 1)
        latency_s = self.of("latency_s")[rows]
        full, blocked = self._full[rows].mean(axis=0), self._blocked[rows].mean(axis=0)
        # Who feeds a full operator is blocked, so the one that holds the others up is full without being blocked.
        place = int(np.argmax(full - blocked))
        operator = int(self.operators[place])
        feeding = run.edges.origin[run.edges.target == operator]
        shares = blocked[np.searchsorted(self.operators, feeding)]
        most = int(np.argmax(shares)) if shares.size and shares.max() > 0 else -1
        return Late(
            first=first,
            last=last,
            start_s=float(run.interval_start_s[first]),
            end_s=float(run.interval_start_s[last]) + run.interval_s,
            latency_s=float(latency_s.mean()),
            worst_s=float(latency_s.max()),
            down_s=float(self.of("down_s")[rows].sum()),
            lag=float(self.of("lag")[last]),
            operator=operator,
            full=float(full[place]),
            blocked=int(feeding[most]) if most >= 0 else -1,
            blocked_share=float(shares[most]) if most >= 0 else 0.0,
        )

    @cached_property
    def _full(self) -> Floats:
        """(I, own operators) how near to what it can do: with skew, one instance is full before the others are."""
        parallelism = self.run.parallelism[:, self.operators]
        skew = self.run.operators.skew[self.operators]
        at_once = 1.0 / (skew + (1.0 - skew) / parallelism)
        full: Floats = self.run.of_operators("busy")[:, self.operators] * parallelism / at_once
        return full

    @cached_property
    def _blocked(self) -> Floats:
        own: Floats = self.run.of_operators("blocked")[:, self.operators]
        return own
