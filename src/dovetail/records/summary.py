"""The summary table: one row per scheduler and seed, one column per metric."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import RecordError
from dovetail.records.parquet import read_table, write_table

KEYS = {"scheduler": "string", "params": "string", "kind": "string", "seed": "int64"}


class Entry(NamedTuple):
    """A scheduler as it took part: the same one with other parameters is another entry."""

    scheduler: str
    params: str  # canonical JSON, see `canonical_params`


class RowKey(NamedTuple):
    """Rows are kept in this order, whichever was finished first."""

    scheduler: str
    params: str
    seed: int


@dataclass(frozen=True, eq=False)
class Summary:
    """R rows, sorted by scheduler, parameters and seed."""

    scheduler: tuple[str, ...]  # (R,)
    params: tuple[str, ...]  # (R,) canonical JSON
    kind: tuple[str, ...]  # (R,) heuristic, optimise or learned
    seed: Ints  # (R,)
    metrics: Mapping[str, Floats]  # name -> (R,)

    def __len__(self) -> int:
        return len(self.scheduler)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The schedulers compared, in the order of the table."""
        return tuple(dict.fromkeys(map(Entry, self.scheduler, self.params)))

    def rows(self, entry: Entry) -> Ints:
        """Rows of this entry, by seed."""
        pairs = zip(self.scheduler, self.params, strict=True)
        return np.array([row for row, pair in enumerate(pairs) if pair == entry], dtype=np.int64)

    def kind_of(self, entry: Entry) -> str:
        return self.kind[int(self.rows(entry)[0])]

    def values(self, entry: Entry, metric: str) -> Floats:
        """The metric of this entry, by seed; `seed[rows(entry)]` are the seeds."""
        return self.metrics[metric][self.rows(entry)]

    def label(self, entry: Entry) -> str:
        """The scheduler's name, with its parameters only where the name alone would be ambiguous."""
        if sum(other.scheduler == entry.scheduler for other in self.entries) < 2:
            return entry.scheduler
        params = json.loads(entry.params)
        text = ", ".join(f"{key}={value}" for key, value in params.items())
        return f"{entry.scheduler} ({text or 'defaults'})"


def write_summary(path: Path, rows: Mapping[RowKey, tuple[str, Mapping[str, float]]]) -> None:
    """Write rows of (kind, metrics); all must have the same metrics in the same order."""
    keys = sorted(rows)
    names = list(rows[keys[0]][1])
    columns: dict[str, Sequence[str] | NDArray[Any]] = {
        "scheduler": [key.scheduler for key in keys],
        "params": [key.params for key in keys],
        "kind": [rows[key][0] for key in keys],
        "seed": np.array([key.seed for key in keys], dtype=np.int64),
    }
    for name in names:
        columns[name] = np.array([rows[key][1][name] for key in keys], dtype=np.float64)
    write_table(path, columns, KEYS | dict.fromkeys(names, "float64"))


def read_summary(path: Path) -> Summary:
    columns = read_table(path)
    missing = [key for key in KEYS if key not in columns]
    if missing:
        raise RecordError(f"{path}: column {missing[0]!r} is missing; expected {', '.join(KEYS)}, metrics")
    metrics = {name: values for name, values in columns.items() if name not in KEYS}
    for name, values in metrics.items():
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise RecordError(f"{path}, column {name!r}: expected float64, as every metric is")
    summary = Summary(**{key: columns[key] for key in KEYS}, metrics=metrics)
    if not len(summary):
        raise RecordError(f"{path}: no rows; expected one per scheduler and seed")
    _check_keys(path, summary_keys(summary))
    return summary


def summary_keys(summary: Summary) -> list[RowKey]:
    return [RowKey(*key) for key in zip(summary.scheduler, summary.params, summary.seed.tolist(), strict=True)]


def _check_keys(path: Path, keys: Iterable[RowKey]) -> None:
    seen: set[RowKey] = set()
    for row, key in enumerate(keys):
        if key in seen:
            raise RecordError(f"{path}, row {row}: {key.scheduler}, seed {key.seed} is there twice")
        seen.add(key)
        try:
            params = json.loads(key.params)
        except json.JSONDecodeError:
            params = None
        if not isinstance(params, dict):
            raise RecordError(f"{path}, row {row}, column 'params': {key.params!r}; expected a JSON object")
