"""Streaming jobs without what comes to them: the tables of jobs, operators and edges, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.core.errors import DovetailError
from dovetail.core.stream import Floats, Ints
from dovetail.workloads.stream import StreamWorkload

RUNTIME_S = {"warm": 0.3, "cold": 1.5, "python": 7.0}
"""Seconds of a rescale without state: a JVM that is kept, a new JVM, and operators in Python, as measured on Flink."""

INSTANCES = 10  # of an operator, at most, unless it is said
SLOTS = 200  # of a job, at most, unless it is said
START_UTILISATION = 0.7  # of an operator at the mean rate, with the instances it starts with
CHECKPOINT_S = 10.0


@dataclass(frozen=True, eq=False)
class StreamJobs:
    """J jobs, O operators, E edges; the columns are those of `StreamWorkload`, where their meaning is written."""

    job_name: tuple[str, ...]  # (J,)
    job_rate: Floats  # (J,) records a second, on average over the series that it is given
    job_slo_s: Floats  # (J,)
    job_restart_s: Floats  # (J,)
    job_checkpoint_s: Floats  # (J,)
    op_name: tuple[str, ...]  # (O,)
    op_job: Ints  # (O,)
    op_service_s: Floats  # (O,)
    op_selectivity: Floats  # (O,)
    op_source: Floats  # (O,)
    op_skew: Floats  # (O,)
    op_variability: Floats  # (O,)
    op_buffer: Floats  # (O,)
    op_state_mb: Floats  # (O,)
    op_max: Ints  # (O,)
    op_start: Ints  # (O,)
    edge_from: Ints  # (E,)
    edge_to: Ints  # (E,)
    edge_share: Floats  # (E,)
    slots: int

    @property
    def num_jobs(self) -> int:
        return len(self.job_name)

    @property
    def num_operators(self) -> int:
        return len(self.op_name)

    def workload(self, bin_s: float, rate: Floats, clock_s: float) -> StreamWorkload:
        """With these rates (J, T)."""
        columns = {name: value for name, value in vars(self).items() if name != "job_rate"}
        return StreamWorkload(**columns, bin_s=bin_s, rate=rate, clock_s=clock_s)

    def at_mean_rate(self) -> StreamWorkload:
        """With one bin of a second at the mean rate: for what does not depend on how rates vary."""
        return self.workload(1.0, self.job_rate[:, None], 0.0)

    def demand(self) -> Floats:
        """(O,) instances that are busy at the mean rate, skew left out."""
        return self.at_mean_rate().load_s * self.job_rate[self.op_job]

    def level(self) -> Ints:
        """(O,) operators on the longest chain that ends just before this one; 0 for a source."""
        level = np.zeros(self.num_operators, dtype=np.int64)
        for origin, target in zip(self.edge_from, self.edge_to, strict=True):  # sorted by target
            level[target] = max(level[target], level[origin] + 1)
        return level

    def parents(self) -> Ints:
        """(O,) operators that feed it."""
        return np.bincount(self.edge_to, minlength=self.num_operators).astype(np.int64)


def jobs_of(work: StreamWorkload) -> StreamJobs:
    """The jobs of a sequence, their mean rates those of the sequence."""
    names = StreamJobs.__dataclass_fields__.keys() - {"job_rate"}
    return StreamJobs(**{name: getattr(work, name) for name in names}, job_rate=work.rate.mean(axis=1))


def instances_for(demand: float, skew: float, most: int, utilisation: float = START_UTILISATION) -> int:
    """The fewest that are at most so busy where so many instances' worth of work comes, or as many as there may be."""
    for count in range(1, most):
        if demand <= utilisation / (skew + (1.0 - skew) / count):
            return count
    return most


def most_skew(demand: float, most: int, peak: float) -> float:
    """The largest skew with which so many instances can do `peak` times the demand; 0 where not even without."""
    return max(0.0, (1.0 / (peak * demand) - 1.0 / most) / (1.0 - 1.0 / most)) if most > 1 else 0.0


@dataclass
class StreamBuilder:
    """Jobs one after another, each from its sources on: an operator names those that feed it."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)
    edges: list[tuple[int, int, float]] = field(default_factory=list)

    def job(self, name: str, *, rate: float, restart_s: float, slo_s: float, checkpoint_s: float) -> None:
        """Operators that follow are its own."""
        self.jobs.append({"name": name, "rate": rate, "restart_s": restart_s, "slo_s": slo_s})
        self.jobs[-1]["checkpoint_s"] = checkpoint_s

    def operator(
        self,
        name: str,
        *parents: int | tuple[int, float],
        service_s: float,
        buffer_s: float,
        selectivity: float = 1.0,
        source: float = 0.0,
        skew: float = 0.0,
        variability: float = 1.0,
        state_mb: float = 0.0,
        most: int = INSTANCES,
    ) -> int:
        """Its number.  A parent alone sends it everything, with a number that share of it; buffers are time of work."""
        number = len(self.operators)
        self.operators.append(
            {
                "name": name,
                "job": len(self.jobs) - 1,
                "service_s": service_s,
                "selectivity": selectivity,
                "source": source,
                "skew": skew,
                "variability": variability,
                "buffer": max(1.0, float(round(buffer_s / service_s))),
                "state_mb": state_mb,
                "max": most,
            }
        )
        for parent in parents:
            origin, share = parent if isinstance(parent, tuple) else (parent, 1.0)
            self.edges.append((origin, number, share))
        return number

    def build(self, slots: int) -> StreamJobs:
        """Instances at the start are what the mean rate asks for, fewer where slots do not suffice."""

        def column(rows: list[dict[str, Any]], name: str, kind: type = np.float64) -> Any:
            return np.array([row[name] for row in rows], dtype=kind)

        edges = sorted(self.edges, key=lambda edge: (edge[1], edge[0]))
        jobs = StreamJobs(
            job_name=tuple(row["name"] for row in self.jobs),
            job_rate=column(self.jobs, "rate"),
            job_slo_s=column(self.jobs, "slo_s"),
            job_restart_s=column(self.jobs, "restart_s"),
            job_checkpoint_s=column(self.jobs, "checkpoint_s"),
            op_name=tuple(row["name"] for row in self.operators),
            op_job=column(self.operators, "job", np.int64),
            op_service_s=column(self.operators, "service_s"),
            op_selectivity=column(self.operators, "selectivity"),
            op_source=column(self.operators, "source"),
            op_skew=column(self.operators, "skew"),
            op_variability=column(self.operators, "variability"),
            op_buffer=column(self.operators, "buffer"),
            op_state_mb=column(self.operators, "state_mb"),
            op_max=column(self.operators, "max", np.int64),
            op_start=np.ones(len(self.operators), dtype=np.int64),
            edge_from=np.array([edge[0] for edge in edges], dtype=np.int64),
            edge_to=np.array([edge[1] for edge in edges], dtype=np.int64),
            edge_share=np.array([edge[2] for edge in edges], dtype=np.float64),
            slots=slots,
        )
        if len(self.operators) > slots:
            raise DovetailError(f"{len(self.operators)} operators and {slots} slots; each operator needs one at least")
        demand = jobs.demand()
        wanted = zip(demand, jobs.op_skew, jobs.op_max, strict=True)
        jobs.op_start[:] = [instances_for(work, skew, int(most)) for work, skew, most in wanted]
        while jobs.op_start.sum() > slots:  # who is least busy with one fewer gives it up
            busy = np.where(jobs.op_start > 1, demand / np.maximum(jobs.op_start - 1, 1), np.inf)
            jobs.op_start[busy.argmin()] -= 1
        return jobs
