"""What a matrix has come to so far: rows and failures, in memory and, if wanted, in a record directory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.evaluation.comparison import Comparison, compare
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.family import family_named
from dovetail.evaluation.matrix import Matrix, Outcome
from dovetail.evaluation.matrix_cell import Failure, Row
from dovetail.records.directory import Records
from dovetail.records.run import run_name
from dovetail.records.summary import RowKey, Summary
from dovetail.records.writer import RecordWriter

FLUSH_S = 2.0  # what a sudden death may cost; an interruption costs nothing


class MatrixResults:
    """Collects outcomes.  With a `writer` and `resume`, rows that are in its directory count as done."""

    def __init__(self, matrix: Matrix, writer: RecordWriter | None = None, *, resume: bool = True) -> None:
        self.matrix = matrix
        self.failures: list[Failure] = []
        self.notes: list[str] = []  # what schedulers have to say of their runs
        self.resumed = 0
        self._writer = writer
        self._flushed = time.monotonic()
        self._rows: dict[RowKey, Row] = {}
        for contender in matrix.contenders if resume else ():
            for seed in matrix.seeds:
                self._resume(contender, seed)

    def is_done(self, contender: Contender, seed: int) -> bool:
        return RowKey(*contender.entry, seed) in self._rows

    @property
    def rows(self) -> int:
        return len(self._rows)

    def add(self, outcome: Outcome) -> None:
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return
        if outcome.note:
            self.notes.append(f"{outcome.contender.spec}, seed {outcome.seed}: {outcome.note}")
        self._rows[RowKey(*outcome.contender.entry, outcome.seed)] = replace(outcome, run=None)
        if self._writer is None:
            return
        if outcome.run is not None:
            self._writer.add_run(outcome.run, flush=False)
        self._writer.add(
            outcome.contender.name,
            outcome.seed,
            outcome.metrics,
            params=outcome.contender.params,
            kind=outcome.contender.kind,
            timings=outcome.timings,
            flush=False,
        )
        if time.monotonic() - self._flushed > FLUSH_S:
            self.flush()

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()
            self._flushed = time.monotonic()

    def row(self, contender: Contender, seed: int) -> Row:
        """The row of a cell that is done."""
        return self._rows[RowKey(*contender.entry, seed)]

    def values(self, contender: Contender, metric: str) -> dict[int, float]:
        """The metric by seed."""
        found = ((seed, self._rows.get(RowKey(*contender.entry, seed))) for seed in self.matrix.seeds)
        return {seed: row.metrics[metric] for seed, row in found if row is not None}

    def complete(self) -> tuple[tuple[Contender, ...], tuple[int, ...]]:
        """Who can be compared on what: the schedulers that never failed, and the seeds all of them have run.

        A mean over the seeds on which a scheduler happened not to fail would flatter it.
        """
        failed = {failure.contender.entry for failure in self.failures}
        whole = tuple(one for one in self.matrix.contenders if one.entry not in failed)
        seeds = tuple(seed for seed in self.matrix.seeds if all(self.is_done(one, seed) for one in whole))
        return (whole, seeds) if whole and seeds else ((), ())

    def comparison(self, yardstick: str | None = None) -> Comparison:
        """The table of what is complete, which may be nothing."""
        contenders, seeds = self.complete()
        keys = sorted(RowKey(*one.entry, seed) for one in contenders for seed in seeds)
        if not keys:
            family = self.matrix.family
            return Comparison((), None, yardstick or family_named(family).yardstick, family)
        rows = [self._rows[key] for key in keys]
        names = list(rows[0].metrics)
        summary = Summary(
            scheduler=tuple(key.scheduler for key in keys),
            params=tuple(key.params for key in keys),
            kind=tuple(row.contender.kind for row in rows),
            seed=np.array([key.seed for key in keys], dtype=np.int64),
            metrics={name: np.array([row.metrics[name] for row in rows]) for name in names},
        )
        timings = {key: row.timings for key, row in zip(keys, rows, strict=True)}
        facts = {"family": self.matrix.family, "workload": {}, "options": {}}
        return compare(Records(Path(), facts, summary, timings, ()), yardstick)

    def failures_json(self) -> list[dict[str, Any]]:
        return [
            {
                "scheduler": failure.contender.name,
                "params": dict(failure.contender.params),
                "seed": failure.seed,
                "error": failure.error,
            }
            for failure in sorted(self.failures, key=lambda one: (one.contender.entry, one.seed))
        ]

    def _resume(self, contender: Contender, seed: int) -> None:
        writer = self._writer
        if writer is None or not writer.done(contender.name, seed, contender.params):
            return
        is_kept = self.matrix.keep and seed == self.matrix.seeds[0]
        if is_kept and not writer.has_run(run_name(contender.name, seed, contender.params)):
            return  # the run itself is to be kept too, and only running it again brings it
        metrics: Mapping[str, float] = writer.metrics(contender.name, seed, contender.params)
        timings = writer.timings(contender.name, seed, contender.params)
        self._rows[RowKey(*contender.entry, seed)] = Row(contender, seed, metrics, timings=timings)
        self.resumed += 1
