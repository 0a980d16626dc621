"""Where job sequences come from: a catalogue to draw from, or a recorded sequence to cut windows out of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from dovetail.core.config import build
from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.spec import parse_spec, read_overrides
from dovetail.workloads.arrivals import Arrivals, Deadlines
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.durations import dag_work_at_s, ideal_s

BUNDLED = {
    "tpch-like": "dovetail.workloads.generate.tpch_like:TpchLike",
    "layered": "dovetail.workloads.generate.shapes:Layered",
    "chains": "dovetail.workloads.generate.shapes:Chains",
    "fork-joins": "dovetail.workloads.generate.shapes:ForkJoins",
    "granularity": "dovetail.workloads.generate.granularity:Granularity",
    "changing": "dovetail.workloads.generate.changing:Changing",
}
"""Bundled workloads: name -> parameters whose `catalogue()` makes it.  Defaults always give the same one."""

MEASURED = {"tpch-spark": "dovetail.workloads.bundled.measured:TpchSpark"}
"""The same for those that are stored, not generated."""


class Generator(Protocol):
    """Parameters of a generator."""

    def catalogue(self) -> DagCatalogue: ...


@runtime_checkable
class HasOwnArrivals(Protocol):
    """Parameters of a generator that also says when jobs arrive."""

    def source(self, name: str) -> DagSource: ...


@dataclass(frozen=True, eq=False)
class DagSource:
    """Draws job sequences.  `recorded` is the sequence that was measured, if there is one."""

    name: str
    catalogue: DagCatalogue
    recorded: DagWorkload | None = None

    def mean_work_s(self, executors: float) -> float:
        """Expected work of a drawn job in task-seconds if it holds so many executors."""
        work_s = dag_work_at_s(self.catalogue, executors)
        return float(work_s[self.recorded.job_dag].mean() if self.recorded is not None else work_s.mean())

    def sequence(
        self,
        num_jobs: int,
        arrivals: Arrivals,
        seeds: SeedTree,
        *,
        weights: Sequence[float] | None = None,
        deadlines: Deadlines | None = None,
    ) -> DagWorkload:
        """A job sequence.  Jobs, arrivals, weights and deadlines come from streams of their own.

        Batch and Poisson jobs are drawn with equal chance from the recorded jobs or, without a record, from
        the dags of the catalogue.  `weights` is a list to draw each job's weight from (recorded weights, or
        1).
        """
        if num_jobs < 1:
            raise DovetailError(f"workload {self.name}: a sequence needs at least 1 job, not {num_jobs}")
        rng = seeds.child("jobs").generator()
        if arrivals.kind == "trace":
            names, dag, arrival_s, weight, deadline_s = self._window(num_jobs, rng)
        else:
            names = tuple(f"j{i}" for i in range(num_jobs))
            dag, weight = self._draw(num_jobs, rng)
            arrival_s = arrivals.times_s(num_jobs, self.mean_work_s, seeds.child("arrivals").generator())
            deadline_s = np.full(num_jobs, np.inf)
        if weights is not None:
            weight = _choose(weights, num_jobs, seeds.child("weights").generator())
        if deadlines is not None:
            factor = seeds.child("deadlines").generator().uniform(deadlines.low, deadlines.high, num_jobs)
            deadline_s = arrival_s + factor * ideal_s(self.catalogue, deadlines.executors)[dag]
        return DagWorkload(self.catalogue, names, dag, arrival_s, weight, deadline_s)

    def _draw(self, num_jobs: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        if self.recorded is None:
            return rng.integers(self.catalogue.num_dags, size=num_jobs), np.ones(num_jobs)
        job = rng.integers(self.recorded.num_jobs, size=num_jobs)
        return self.recorded.job_dag[job], self.recorded.weight[job]

    def _window(self, num_jobs: int, rng: np.random.Generator) -> tuple[tuple[str, ...], Ints, Floats, Floats, Floats]:
        record = self.recorded
        if record is None:
            raise DovetailError(
                f"workload {self.name}: no recorded arrivals to cut a window from; use batch or poisson"
            )
        if num_jobs > record.num_jobs:
            raise DovetailError(
                f"workload {self.name}: {num_jobs} jobs in a row asked for, {record.num_jobs} were recorded"
            )
        start = int(rng.integers(record.num_jobs - num_jobs + 1))
        window = slice(start, start + num_jobs)
        shift = record.arrival_s[start]
        return (
            record.job_name[window],
            record.job_dag[window],
            record.arrival_s[window] - shift,
            record.weight[window],
            record.deadline_s[window] - shift,
        )


def open_source(name_or_path: str | Path) -> DagSource:
    """The workload in that directory, or the bundled one of that name.

    A bundled name may be followed by parameters: `layered:dags=10,width=[2,8]`.
    """
    text = str(name_or_path)
    known = {**BUNDLED, **MEASURED}
    if text not in known and Path(text).is_dir():
        from dovetail.workloads.readers.native import read_source

        return read_source(Path(text))
    if "/" in text.partition(":")[0] or Path(text).exists():
        raise DovetailError(f"workload {text}: {'not a' if Path(text).exists() else 'no such'} directory")
    name, overrides = parse_spec(text)
    if name not in known:
        raise UnknownName("workload", name, known)
    made = generator(name, overrides)
    return made.source(text) if isinstance(made, HasOwnArrivals) else DagSource(text, made.catalogue())


def generator(name: str, overrides: Mapping[str, object]) -> Generator:
    """The bundled workload's parameters, some of them changed."""
    module, params = {**BUNDLED, **MEASURED}[name].split(":")
    cls: type[Generator] = getattr(import_module(module), params)
    return build(cls, read_overrides(cls, overrides, name), name)


def _choose(weights: Sequence[float], num_jobs: int, rng: np.random.Generator) -> Floats:
    if not weights or not all(math.isfinite(w) and w > 0 for w in weights):
        raise ConfigError("weights: give one or more numbers above 0 to draw each job's weight from")
    return rng.choice(np.asarray(weights, dtype=np.float64), size=num_jobs)
