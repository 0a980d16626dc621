"""A workload that changes its kind every few minutes: phases of `granularity`, batched or one by one, over and over.

A phase is written kind-shape-arrivals, such as `fine-wide-batched`.  Within it jobs keep `executors` busy for a share
`load` of the time: one by one and at random, or so many at once, at regular intervals from the start of the phase.
Phases last `phase_s` each and follow one another until there are enough jobs.  A job is called after its phase:
`p3-fine-wide-17`.

Arrivals are part of the workload, so it is played with `--arrivals trace`, every seed a sequence of its own.  With
`batch` or `poisson` its jobs are drawn like those of any other catalogue, without phases.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.workloads.arrivals import interval_for
from dovetail.workloads.dag import DagCatalogue, pointer
from dovetail.workloads.durations import dag_work_at_s
from dovetail.workloads.generate.granularity import Granularity, Kind, Shape
from dovetail.workloads.source import DagSource

ARRIVALS = ("batched", "individual")
PHASES = ("mixed-deep-individual", "fine-wide-batched", "coarse-wide-batched")


@dataclass(frozen=True)
class Changing:
    """Parameters of the bundled workload `changing`."""

    phases: tuple[str, ...] = PHASES
    phase_s: float = 600.0
    load: float = 0.5
    executors: int = 40
    batch_jobs: int = 40  # that arrive at once in a batched phase
    dags: int = 48  # of each phase
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.phases:
            raise ValueError("phases: none given; expected some such as [fine-wide-batched,coarse-deep-individual]")
        for phase in self.phases:
            _parse(phase)
        if not 0 < self.phase_s < float("inf"):
            raise ValueError(f"phase_s must be above 0 seconds, not {self.phase_s:g}")
        if not 0 < self.load < 1:
            raise ValueError(f"load must be above 0 and below 1, not {self.load:g}")
        if self.executors < 1 or self.batch_jobs < 1 or self.dags < 1:
            raise ValueError("executors, batch_jobs and dags must be at least 1")

    def catalogue(self) -> DagCatalogue:
        return joined([self._part(phase) for phase in range(len(self.phases))])

    def source(self, name: str) -> DagSource:
        return ChangingSource(name, self.catalogue(), None, self)

    def _part(self, phase: int) -> DagCatalogue:
        kind, shape, _ = _parse(self.phases[phase])
        part = Granularity(kind, shape, self.dags, self.seed).catalogue()
        return replace(part, dag_name=tuple(f"{phase}-{name}" for name in part.dag_name))


@dataclass(frozen=True, eq=False)
class ChangingSource(DagSource):
    """Draws sequences phase by phase."""

    params: Changing = field(default_factory=Changing)

    def _window(self, num_jobs: int, rng: np.random.Generator) -> tuple[tuple[str, ...], Ints, Floats, Floats, Floats]:
        params = self.params
        names: list[str] = []
        dags: list[int] = []
        arrival_s: list[float] = []
        phase = 0
        while len(names) < num_jobs:
            at = phase % len(params.phases)
            first = at * params.dags
            kind, shape, arrivals = _parse(params.phases[at])
            batched = arrivals == "batched"
            together = params.batch_jobs if batched else 1
            gap_s = together * self._interval_s(at)
            now_s = phase * params.phase_s + (0.0 if batched else rng.exponential(gap_s))
            while now_s < (phase + 1) * params.phase_s:
                for _ in range(together):
                    names.append(f"p{phase}-{kind}-{shape}-{len(names)}")
                    dags.append(first + int(rng.integers(params.dags)))
                    arrival_s.append(now_s)
                now_s += gap_s if batched else rng.exponential(gap_s)
            phase += 1
        shown = slice(0, num_jobs)
        weight, deadline_s = np.ones(num_jobs), np.full(num_jobs, np.inf)
        return tuple(names[shown]), np.array(dags[shown]), np.array(arrival_s[shown]), weight, deadline_s

    def _interval_s(self, phase: int) -> float:
        """Mean time between jobs of the phase that gives the load."""
        jobs = slice(phase * self.params.dags, (phase + 1) * self.params.dags)
        return interval_for(
            self.params.load,
            self.params.executors,
            lambda executors: float(dag_work_at_s(self.catalogue, executors)[jobs].mean()),
        )


def phase_of(job_name: str) -> int:
    """Which phase a job of such a sequence arrived in."""
    return int(job_name.partition("-")[0].removeprefix("p"))


def joined(parts: list[DagCatalogue]) -> DagCatalogue:
    """The dags of all of them, one after the other."""
    first_stage = pointer(np.array([part.num_stages for part in parts]))
    return DagCatalogue(
        name="changing",
        dag_name=tuple(name for part in parts for name in part.dag_name),
        stage_ptr=pointer(np.concatenate([part.dag_stages for part in parts])),
        stage_name=tuple(name for part in parts for name in part.stage_name),
        num_tasks=np.concatenate([part.num_tasks for part in parts]),
        cpu=np.concatenate([part.cpu for part in parts]),
        memory=np.concatenate([part.memory for part in parts]),
        edge_ptr=pointer(np.concatenate([np.diff(part.edge_ptr) for part in parts])),
        edge_parent=np.concatenate([part.edge_parent for part in parts]),
        edge_child=np.concatenate([part.edge_child for part in parts]),
        duration_stage=np.concatenate([part.duration_stage + first_stage[i] for i, part in enumerate(parts)]),
        duration_wave=np.concatenate([part.duration_wave for part in parts]),
        duration_executors=np.concatenate([part.duration_executors for part in parts]),
        duration_ptr=pointer(np.concatenate([np.diff(part.duration_ptr) for part in parts])),
        duration_s=np.concatenate([part.duration_s for part in parts]),
    )


def _parse(phase: str) -> tuple[Kind, Shape, str]:
    parts = phase.split("-")
    for given, known in zip(parts, (get_args(Kind), get_args(Shape), ARRIVALS), strict=False):
        if given not in known:
            raise ValueError(f"phase {phase!r}: no {given!r}; expected one of {', '.join(known)}")
    if len(parts) != 3:
        raise ValueError(f"phase {phase!r}: expected kind-shape-arrivals, such as fine-wide-batched")
    return parts[0], parts[1], parts[2]  # type: ignore[return-value] # checked above
