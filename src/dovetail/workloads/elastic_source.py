"""Where sequences of elastic jobs come from: a distribution to draw from, or a record to cut windows out of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from dovetail.core.config import build
from dovetail.core.elastic import Ints
from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.spec import parse_spec, read_overrides
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_arrivals import ElasticArrivals, read_arrivals
from dovetail.workloads.elastic_jobs import ElasticRecord, ElasticTable
from dovetail.workloads.elastic_setting import MAX_JOBS, MAX_SLOTS

ELASTIC = {
    "oasis-small": "dovetail.workloads.generate.elastic_oasis:OasisSmall",
    "oasis-paper": "dovetail.workloads.generate.elastic_oasis:OasisPaper",
}
"""Bundled workloads: name -> parameters of the distribution."""

HISTORY = 200  # jobs before the window, where jobs are drawn from a record
LEAST_HISTORY = 20  # with fewer recorded before the window, all recorded jobs count as its history


class ElasticGenerator(Protocol):
    """Parameters of a distribution of jobs, and of the setting it was made for."""

    @property
    def jobs(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def slot_s(self) -> float: ...
    @property
    def servers(self) -> int: ...
    @property
    def arrivals(self) -> str: ...
    @property
    def history(self) -> int: ...
    def draw(self, num_jobs: int, rng: np.random.Generator) -> ElasticTable: ...


@dataclass(frozen=True)
class ElasticKind:
    """A kind of job whose speed is known, for instance measured: it takes the place of the drawn one."""

    name: str
    batch_s: float
    gradient_mb: float


@dataclass(frozen=True, eq=False)
class ElasticSource:
    """Draws job sequences.  Either `generator` or `recorded` is there.

    `jobs`, `slots`, `slot_s`, `servers` (hosts in all, half of them for workers and half for parameter servers) and
    `arrivals` are the setting it was made for: what commands take unless they are told otherwise.
    """

    name: str
    jobs: int
    slots: int
    slot_s: float
    servers: int
    arrivals: ElasticArrivals
    generator: ElasticGenerator | None = None
    generator_name: str | None = None
    kinds: tuple[ElasticKind, ...] = ()  # with a generator: jobs are of these, with equal chance; none: as drawn
    recorded: ElasticRecord | None = None
    earlier: ElasticRecord | None = None  # recorded before the first of `recorded`

    def sequence(self, num_jobs: int, arrivals: ElasticArrivals, slots: int, seeds: SeedTree) -> ElasticWorkload:
        """A job sequence.  Jobs, arrivals and history come from streams of their own.

        Jobs are drawn from the distribution or, with equal chance, from the recorded ones; the history is drawn in the
        same way.  With arrivals `trace`, they are consecutive recorded jobs that fit the horizon, shifted to start in
        slot 0 (all jobs of a record that fits keep their slots), and the history is what was recorded before them.
        Where that is fewer than 20 jobs, it is all recorded jobs: prices are then estimated from the very jobs they
        are for.
        """
        jobs, history = self.records(num_jobs, arrivals, slots, seeds)
        return jobs.workload(slots, history)

    def records(
        self, num_jobs: int, arrivals: ElasticArrivals, slots: int, seeds: SeedTree
    ) -> tuple[ElasticRecord, ElasticRecord]:
        """The jobs of a sequence and those of its history, with everything that is known about them."""
        if not 1 <= num_jobs <= MAX_JOBS:
            raise DovetailError(f"workload {self.name}: a sequence has 1 to {MAX_JOBS:,} jobs, not {num_jobs}")
        if not 1 <= slots <= MAX_SLOTS:
            raise DovetailError(f"workload {self.name}: a horizon has 1 to {MAX_SLOTS:,} slots, not {slots}")
        if arrivals.kind == "trace":
            return self._window(num_jobs, slots, seeds.child("jobs").generator())
        past = HISTORY if self.generator is None else self.generator.history
        return (
            self._drawn("j", num_jobs, arrivals, slots, seeds.child("jobs"), seeds.child("arrivals")),
            self._drawn("h", past, arrivals, slots, seeds.child("history", "jobs"), seeds.child("history", "arrivals")),
        )

    def _drawn(
        self, prefix: str, num: int, arrivals: ElasticArrivals, slots: int, jobs: SeedTree, times: SeedTree
    ) -> ElasticRecord:
        arrival = arrivals.in_slots(num, slots, times.generator())
        names = tuple(f"{prefix}{i}" for i in range(num))
        return ElasticRecord(self.slot_s, names, arrival, self._draw(num, jobs))

    def _draw(self, num: int, seeds: SeedTree) -> ElasticTable:
        rng = seeds.generator()
        if self.generator is None:
            pool = self._record()
            return pool.jobs.take(rng.integers(pool.num_jobs, size=num))
        jobs = self.generator.draw(num, rng)
        if not self.kinds:
            return jobs
        kind = seeds.child("kinds").generator().integers(len(self.kinds), size=num)
        return replace(
            jobs,
            batch_s=np.array([each.batch_s for each in self.kinds])[kind],
            gradient_mb=np.array([each.gradient_mb for each in self.kinds])[kind],
        )

    def _record(self) -> ElasticRecord:
        if self.recorded is None:
            raise DovetailError(
                f"workload {self.name}: no recorded jobs to cut a window from; use arrivals poisson, uniform, batch, "
                "bursts or counts"
            )
        return self.recorded

    def _window(self, num_jobs: int, slots: int, rng: np.random.Generator) -> tuple[ElasticRecord, ElasticRecord]:
        record = self._record()
        if num_jobs > record.num_jobs:
            raise DovetailError(
                f"workload {self.name}: {num_jobs} jobs in a row asked for, {record.num_jobs} were recorded"
            )
        last = num_jobs - 1
        span = record.arrival[last:] - record.arrival[: record.num_jobs - last]
        fitting = np.flatnonzero(span < slots)
        if not fitting.size:
            raise DovetailError(
                f"workload {self.name}: {num_jobs} jobs in a row took {int(span.min()) + 1} slots or more to arrive; "
                f"ask for fewer jobs or for more than {slots} slots"
            )
        start = int(fitting[rng.integers(fitting.size)])
        whole = num_jobs == record.num_jobs and record.arrival[-1] < slots
        jobs = record if whole else _cut(record, np.arange(start, start + num_jobs), slots)
        return jobs, self._before(record, start, slots)

    def learns_from_itself(self, num_jobs: int) -> bool:
        """May the history of a window of so many recorded jobs be those jobs themselves?"""
        return self.recorded is not None and self.earlier is None and self.recorded.num_jobs - num_jobs < LEAST_HISTORY

    def _before(self, record: ElasticRecord, start: int, slots: int) -> ElasticRecord:
        """Their slots of arrival are counted as if horizons of so many slots had followed one another."""
        if start >= LEAST_HISTORY:
            return _cut(record, np.arange(start), slots)
        if self.earlier is not None:
            return self.earlier
        return _cut(record, np.arange(record.num_jobs), slots)


def _cut(record: ElasticRecord, rows: Ints, slots: int) -> ElasticRecord:
    """Consecutive jobs, their arrivals counted from the first one's, modulo the horizon."""
    arrival = (record.arrival[rows] - record.arrival[rows[0]]) % slots
    order = np.argsort(arrival, kind="stable")
    names = tuple(record.job_name[row] for row in rows[order])
    return ElasticRecord(record.slot_s, names, arrival[order], record.jobs.take(rows[order]))


def open_elastic(name_or_path: str | Path) -> ElasticSource:
    """The workload in that directory, or the bundled one of that name.

    A bundled name may be followed by parameters: `oasis-paper:epochs=[50,100],servers=20`.
    """
    text = str(name_or_path)
    if text not in ELASTIC and Path(text).is_dir():
        from dovetail.workloads.readers.elastic_native import read_elastic

        return read_elastic(Path(text))
    if "/" in text.partition(":")[0] or Path(text).exists():
        raise DovetailError(f"workload {text}: {'not a' if Path(text).exists() else 'no such'} directory")
    return open_bundled(text)


def open_bundled(text: str) -> ElasticSource:
    """The bundled workload of that name, with the parameters that follow it."""
    name, overrides = parse_spec(text)
    if name not in ELASTIC:
        raise UnknownName("workload", name, ELASTIC)
    made = elastic_generator(name, overrides)
    return ElasticSource(
        name=text,
        jobs=made.jobs,
        slots=made.slots,
        slot_s=made.slot_s,
        servers=made.servers,
        arrivals=read_arrivals(made.arrivals),
        generator=made,
        generator_name=text,
    )


def elastic_generator(name: str, overrides: Mapping[str, object]) -> ElasticGenerator:
    """The bundled workload's parameters, some of them changed."""
    module, params = ELASTIC[name].split(":")
    cls: type[ElasticGenerator] = getattr(import_module(module), params)
    return build(cls, read_overrides(cls, overrides, name), name)
