"""From the summary of a run set to the table everybody reads: means, intervals, and the distance to the best.

The yardstick is a metric, the family's own unless another is named; rows are measured against the heuristic with the
best mean of it, which is the lowest or the highest, as the metric says.  Differences to it are paired: only seeds that
both schedulers have run are used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import Floats
from dovetail.evaluation.family import family_named
from dovetail.evaluation.metric import Metric
from dovetail.evaluation.statistics import Interval, bootstrap_mean, paired_difference, paired_difference_pct
from dovetail.records.directory import Records
from dovetail.records.summary import Entry, Summary

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
    difference_pct: Interval  # the same in percent, nan where that means nothing (`Metric.signed`)
    decision_s: float  # mean time per decision, nan if not measured


@dataclass(frozen=True, eq=False)
class Comparison:
    """The table, best mean of the yardstick first."""

    rows: tuple[ComparedRow, ...]
    best_heuristic: str | None  # its label; None if no heuristic took part
    yardstick: str
    family: str

    @property
    def metric(self) -> Metric:
        """What the yardstick is."""
        return family_named(self.family).metrics[self.yardstick]

    def difference(self, row: ComparedRow) -> Interval:
        """To the best heuristic, in percent or in units of the yardstick, as the metric asks for."""
        return row.difference if self.metric.signed else row.difference_pct

    def sure(self, difference: Interval) -> str:
        """Is a difference in the yardstick better, worse, or unclear, because its interval holds 0?"""
        if difference.low > 0 or difference.high < 0:
            return "better" if (difference.low > 0) == self.metric.higher_is_better else "worse"
        return "unclear"

    def as_json(self, workload: Mapping[str, Any]) -> dict[str, Any]:
        """The document that `compare --json` prints; null stands for what cannot be known."""
        unit = f"_{self.metric.unit}" if self.metric.unit == "s" else ""
        return {
            "schema": 1,
            "family": self.family,
            "workload": dict(workload),
            "rows": [_row_json(row, f"vs_best_heuristic{unit}") for row in self.rows],
            "best_heuristic": self.best_heuristic,
            "yardstick": self.yardstick,
            "higher_is_better": self.metric.higher_is_better,
        }


def compare(records: Records, yardstick: str | None = None) -> Comparison:
    """The table of a record directory."""
    summary, family = records.summary, family_named(records.family)
    yardstick = family.yardstick if yardstick is None else yardstick
    metric = family.metrics[yardstick]
    sign = -1.0 if metric.higher_is_better else 1.0
    means = {entry: float(summary.values(entry, yardstick).mean()) for entry in summary.entries}

    def rank(entry: Entry) -> tuple[bool, float, Entry]:  # what is not a number comes last
        return math.isnan(means[entry]), sign * means[entry], entry

    heuristics = [entry for entry in summary.entries if summary.kind_of(entry) == "heuristic"]
    best = min(heuristics, key=rank, default=None)
    rows = []
    for entry in sorted(summary.entries, key=rank):
        ours, theirs = (_NO_VALUES, _NO_VALUES) if best is None else _paired(summary, entry, best, yardstick)
        rows.append(
            ComparedRow(
                entry=entry,
                label=summary.label(entry),
                kind=summary.kind_of(entry),
                seeds=summary.rows(entry).size,
                metrics={name: bootstrap_mean(summary.values(entry, name)) for name in summary.metrics},
                difference=paired_difference(ours, theirs) if ours.size else _NONE,
                difference_pct=paired_difference_pct(ours, theirs) if ours.size and not metric.signed else _NONE,
                decision_s=records.timing(entry, "decision_s"),
            )
        )
    return Comparison(tuple(rows), None if best is None else summary.label(best), yardstick, records.family)


_NO_VALUES = np.zeros(0)


def _paired(summary: Summary, ours: Entry, theirs: Entry, yardstick: str) -> tuple[Floats, Floats]:
    """The yardstick of both on the seeds they share."""
    a, b = summary.rows(ours), summary.rows(theirs)
    _, at_a, at_b = np.intersect1d(summary.seed[a], summary.seed[b], return_indices=True)
    values = summary.metrics[yardstick]
    return values[a[at_a]], values[b[at_b]]


def _row_json(row: ComparedRow, difference: str) -> dict[str, Any]:
    return {
        "scheduler": row.entry.scheduler,
        "params": json.loads(row.entry.params),
        "kind": row.kind,
        "seeds": row.seeds,
        "metrics": {name: interval.as_json() for name, interval in row.metrics.items()},
        "vs_best_heuristic_pct": _number(row.difference_pct.mean),
        "vs_best_heuristic_pct_ci95": row.difference_pct.as_json()["ci95"],
        difference: row.difference.as_json(),
        "decision_s": _number(row.decision_s),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
