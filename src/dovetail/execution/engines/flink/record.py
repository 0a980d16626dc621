"""A live run as a record of the stream family, as far as a job can be seen from outside.

Intervals begin with the first decision, as in the simulator.  What of them is left out at the end is the one that was
not over.  What nobody sees from outside is said in `UNKNOWN`, which goes to the manifest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.core.stream import Reason, StreamInfo, reward
from dovetail.execution.engines.flink.controller import UnderWay
from dovetail.execution.engines.flink.snapshot import Snapshot
from dovetail.records.run import run_name
from dovetail.records.stream import (
    StreamDecisionRows,
    StreamDelayRows,
    StreamEdgeRows,
    StreamIntervalRows,
    StreamJobRows,
    StreamOperatorIntervalRows,
    StreamOperatorRows,
    StreamRun,
    StreamSnapshotRows,
)

UNKNOWN = {
    "latency": "estimated for each snapshot from queues, or from latency markers where there are any; not measured",
    "delays": "of a snapshot's records all have its estimated latency, so percentiles hide their spread",
    "lag": "what waits at a source that does not tell (pendingRecords) is not in it",
    "service_s, gain": "means over the run, as measured",
    "skew, state_mb": "not looked at: 0",
}
DELAY_CLASSES_S = np.concatenate(([0.0], np.geomspace(0.001, 10_000.0, 141), [np.inf]))


class Recorder:
    """Keeps what a record needs: some numbers for each snapshot, and for each interval those of every operator."""

    def __init__(self, info: StreamInfo, checkpoint_s: float) -> None:
        self._info = info
        self._checkpoint_s = checkpoint_s if checkpoint_s > 0.0 else math.inf
        self._rows: list[Snapshot] = []  # of the interval that is not over
        self._job_snapshots: list[tuple[float, ...]] = []
        self._intervals: list[dict[str, Any]] = []
        self._decisions: list[tuple[int, int, int, int, int, float]] = []
        self._origin_s: float | None = None
        self._spent_s = np.zeros(len(info.operator_name))
        self._done = np.zeros(len(info.operator_name))
        self._came = 0.0

    def add(self, rows: Sequence[Snapshot]) -> None:
        for row in rows:
            if self._origin_s is None:
                self._origin_s = row.end_s - self._info.snapshot_s
            end_s = max((len(self._job_snapshots) + 1) * self._info.snapshot_s, row.end_s - self._origin_s)
            if self._job_snapshots:
                end_s = max(end_s, self._job_snapshots[-1][0])
            values = (row.job_rate, row.job_latency_s, row.job_lag, min(row.down_share, 1.0))
            self._job_snapshots.append((end_s, *(_known(value) for value in values)))
            self._rows.append(row)
            if len(self._rows) == self._info.snapshots:
                self._close()

    def carried_out(self, done: Sequence[UnderWay]) -> None:
        """Decisions count to the interval in which they came about."""
        reasons = {one.operator: one for change in done for one in change.decisions}
        for change in done:
            for i in np.flatnonzero(change.wanted != change.before).tolist():
                one = reasons.get(i)
                reason, demand = (Reason.OUTSIDE_AGENT, math.nan) if one is None else (one.reason, one.demand)
                at = (len(self._intervals), i, int(change.before[i]), int(change.wanted[i]), int(reason), demand)
                self._decisions.append(at)

    @property
    def has_intervals(self) -> bool:
        return len(self._intervals) > 1

    def _close(self) -> None:
        rows, interval_s = self._rows, self._info.interval_s
        self._rows = []
        busy = _known_mean(row.busy for row in rows)
        rate = _known_mean(row.rate for row in rows)
        arrived = sum(_known(row.job_rate) for row in rows) * self._info.snapshot_s
        lag = _known(rows[-1].job_lag)
        before = self._intervals[-1]["lag"] if self._intervals else 0.0
        delivered = max(arrived - (lag - before), 0.0)
        parallelism = rows[-1].parallelism
        self._spent_s += np.mean([np.nan_to_num(row.busy) * row.parallelism for row in rows], axis=0) * interval_s
        self._done += rate * interval_s
        self._came += arrived
        latency_s = float(np.mean([_known(row.job_latency_s) for row in rows]))
        self._intervals.append(
            {
                "latency_s": latency_s,
                "utilisation": float(np.clip(busy, 0.0, 1.0).mean()),
                "arrived": arrived,
                "delivered": delivered,
                "lag": lag,
                "down_s": sum(row.down_share for row in rows) * self._info.snapshot_s,
                "operators": {
                    "parallelism": parallelism,
                    "busy": np.clip(busy, 0.0, 1.0),
                    "blocked": np.clip(_known_mean(row.blocked for row in rows), 0.0, 1.0),
                    "rate": rate,
                    "queued": np.maximum(np.nan_to_num(rows[-1].queued), 0.0),
                },
            }
        )

    def run(self, scheduler: str, seed: int, params: Mapping[str, Any]) -> StreamRun:
        """The first interval, before anything was decided, is not in it."""
        if not self.has_intervals:
            raise RecordError("no interval after the first decision, so there is nothing to record")
        info, operators = self._info, len(self._info.operator_name)
        kept = self._intervals[1:]
        count = len(kept)
        decisions = [(max(at - 1, 0), *rest) for at, *rest in self._decisions if max(at - 1, 0) < count]
        rescaled = np.zeros(count, dtype=np.bool_)
        rescaled[np.array([row[0] for row in decisions], dtype=np.int64)] = True
        columns = {name: np.array([one[name] for one in kept]) for name in _OF_JOB}
        worth = reward(columns["latency_s"], info.job_slo_s[0], columns["utilisation"], info.weight)
        most = np.maximum(info.operator_max, np.max([one["operators"]["parallelism"] for one in kept], axis=0))
        for row in decisions:
            most[row[1]] = max(most[row[1]], row[2], row[3])
        snapshots = list(zip(*self._job_snapshots, strict=True))
        return StreamRun(
            run=run_name(scheduler, seed, params),
            scheduler=scheduler,
            seed=seed,
            params=dict(params),
            interval_s=info.interval_s,
            snapshot_s=info.snapshot_s,
            slots=info.slots,
            jobs=StreamJobRows(
                name=info.job_name,
                slo_s=info.job_slo_s,
                restart_s=info.job_restart_s.copy(),
                checkpoint_s=np.array([self._checkpoint_s]),
            ),
            operators=StreamOperatorRows(
                name=info.operator_name,
                job=info.operator_job,
                service_s=self._spent_s / np.maximum(self._done, 1e-9) * (self._done > 0.0),
                gain=self._done / max(self._came, 1e-9) if self._came > 0.0 else np.zeros(operators),
                skew=np.zeros(operators),
                state_mb=np.zeros(operators),
                most=most,
            ),
            edges=StreamEdgeRows(origin=info.edge_from, target=info.edge_to),
            intervals=StreamIntervalRows(
                interval=np.arange(count),
                job=np.zeros(count, dtype=np.int64),
                start_s=np.arange(1.0, count + 1.0) * info.interval_s,
                reward=worth,
                rescaled=rescaled,
                **columns,
            ),
            operator_intervals=StreamOperatorIntervalRows(
                interval=np.repeat(np.arange(count), operators),
                operator=np.tile(np.arange(operators), count),
                **{
                    name: np.concatenate([one["operators"][name] for one in kept])
                    for name in ("parallelism", "busy", "blocked", "rate", "queued")
                },
            ),
            decisions=_decision_rows(decisions),
            snapshots=StreamSnapshotRows(
                end_s=np.array(snapshots[0]),
                job=np.zeros(len(self._job_snapshots), dtype=np.int64),
                **{
                    name: np.array(column)
                    for name, column in zip(("rate", "latency_s", "lag", "down_share"), snapshots[1:], strict=True)
                },
            ),
            delays=self._delays(),
        )

    def _delays(self) -> StreamDelayRows:
        rate, latency_s = np.array(self._job_snapshots)[self._info.snapshots :, 1:3].T
        records, _ = np.histogram(latency_s, DELAY_CLASSES_S, weights=rate * self._info.snapshot_s)
        there = np.flatnonzero(records)
        return StreamDelayRows(
            job=np.zeros(len(there), dtype=np.int64),
            from_s=DELAY_CLASSES_S[there],
            to_s=DELAY_CLASSES_S[there + 1],
            records=records[there],
        )


_OF_JOB = ("latency_s", "utilisation", "arrived", "delivered", "lag", "down_s")


def _decision_rows(decisions: Sequence[tuple[Any, ...]]) -> StreamDecisionRows:
    rows = list(zip(*sorted(decisions, key=lambda row: row[0]), strict=True)) or [()] * 6
    columns: dict[str, Any] = {
        name: np.array(column, dtype=np.float64 if name == "demand" else np.int64)
        for name, column in zip(StreamDecisionRows.SCHEMA, rows, strict=True)
    }
    return StreamDecisionRows(**columns)


def _known(value: float) -> float:
    return max(value, 0.0) if math.isfinite(value) else 0.0


def _known_mean(columns: Any) -> Any:
    return np.mean([np.nan_to_num(column) for column in columns], axis=0)
