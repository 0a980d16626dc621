"""From the summary of a run set to the table everybody reads: means, intervals, and the distance to the best.

The yardstick is a metric, the average completion time unless another is named; rows are measured against the
heuristic with the lowest mean of it.  Differences to it are paired: only seeds
that both schedulers have run are used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import Floats
from dovetail.evaluation.statistics import Interval, bootstrap_mean, paired_difference, paired_difference_pct
from dovetail.records.directory import DagRecords
from dovetail.records.summary import Entry, Summary

YARDSTICK = "avg_jct_s"
_NONE = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class ComparedRow:
    """One scheduler of the table."""

    entry: Entry
    label: str
    kind: str  # heuristic, optimise or learned
    seeds: int
    metrics: Mapping[str, Interval]
    difference: Interval  # to the best heuristic, paired, in units of the yardstick
    difference_pct: Interval  # the same in percent
    decision_s: float  # mean time per decision, nan if not measured


@dataclass(frozen=True, eq=False)
class Comparison:
    """The table, lowest mean of the yardstick first."""

    rows: tuple[ComparedRow, ...]
    best_heuristic: str | None  # its label; None if no heuristic took part
    yardstick: str = YARDSTICK

    def as_json(self, workload: Mapping[str, Any]) -> dict[str, Any]:
        """The document that `compare --json` prints; null stands for what cannot be known."""
        return {
            "schema": 1,
            "family": "dag",
            "workload": dict(workload),
            "rows": [_row_json(row) for row in self.rows],
            "best_heuristic": self.best_heuristic,
            "yardstick": self.yardstick,
        }


def compare(records: DagRecords, yardstick: str = YARDSTICK) -> Comparison:
    """The table of a record directory."""
    summary = records.summary
    means = {entry: float(summary.values(entry, yardstick).mean()) for entry in summary.entries}
    heuristics = [entry for entry in summary.entries if summary.kind_of(entry) == "heuristic"]
    best = min(heuristics, key=lambda entry: (means[entry], entry), default=None)
    rows = []
    for entry in sorted(summary.entries, key=lambda entry: (means[entry], entry)):
        ours, theirs = (_NO_VALUES, _NO_VALUES) if best is None else _paired(summary, entry, best, yardstick)
        rows.append(
            ComparedRow(
                entry=entry,
                label=summary.label(entry),
                kind=summary.kind_of(entry),
                seeds=summary.rows(entry).size,
                metrics={name: bootstrap_mean(summary.values(entry, name)) for name in summary.metrics},
                difference=paired_difference(ours, theirs) if ours.size else _NONE,
                difference_pct=paired_difference_pct(ours, theirs) if ours.size else _NONE,
                decision_s=records.timing(entry, "decision_s"),
            )
        )
    return Comparison(tuple(rows), None if best is None else summary.label(best), yardstick)


_NO_VALUES = np.zeros(0)


def _paired(summary: Summary, ours: Entry, theirs: Entry, yardstick: str) -> tuple[Floats, Floats]:
    """The yardstick of both on the seeds they share."""
    a, b = summary.rows(ours), summary.rows(theirs)
    _, at_a, at_b = np.intersect1d(summary.seed[a], summary.seed[b], return_indices=True)
    values = summary.metrics[yardstick]
    return values[a[at_a]], values[b[at_b]]


def _row_json(row: ComparedRow) -> dict[str, Any]:
    return {
        "scheduler": row.entry.scheduler,
        "params": json.loads(row.entry.params),
        "kind": row.kind,
        "seeds": row.seeds,
        "metrics": {name: interval.as_json() for name, interval in row.metrics.items()},
        "vs_best_heuristic_pct": _number(row.difference_pct.mean),
        "vs_best_heuristic_pct_ci95": row.difference_pct.as_json()["ci95"],
        "vs_best_heuristic_s": row.difference.as_json(),
        "decision_s": _number(row.decision_s),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
