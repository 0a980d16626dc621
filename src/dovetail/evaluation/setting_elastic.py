"""Settings of the elastic family: training jobs of workers and parameter servers, on hosts for both."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from dovetail.cluster.elastic import ElasticCluster, halves
from dovetail.core.elastic import WORKER
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.metrics_elastic import elastic_metrics
from dovetail.evaluation.recording_elastic import record_elastic_run
from dovetail.evaluation.setting import Measured, OpenSetting, Setting
from dovetail.records.elastic import ElasticRun
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticScheduler, ElasticWorld, run
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_source import ElasticSource, open_elastic

REHEARSED_JOBS, REHEARSED_SLOTS = 2, 40  # of the sequence that is run to have everything compiled
CONTENT_JOBS, CONTENT_SEED = 50, 0  # of the sequence that a workload's fingerprint is taken from


@dataclass(frozen=True)
class ElasticSetting(Setting):
    """What every scheduler of a comparison meets.  None: as the workload was made for."""

    FAMILY: ClassVar = "elastic"
    INLINE_JOBS: ClassVar = 100

    workload: str = "oasis-small"  # bundled name, or directory
    jobs: int | None = None
    arrivals: ElasticArrivals | None = None
    slots: int | None = None
    cluster: ElasticCluster | None = None

    def __post_init__(self) -> None:
        for name, value in (("jobs", self.jobs), ("slots", self.slots)):
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; expected at least 1")

    def open(self) -> OpenElasticSetting:
        source = open_elastic(self.workload)
        return OpenElasticSetting(
            setting=self,
            source=source,
            num_jobs=source.jobs if self.jobs is None else self.jobs,
            arrivals=source.arrivals if self.arrivals is None else self.arrivals,
            slots=source.slots if self.slots is None else self.slots,
            cluster=halves(source.servers) if self.cluster is None else self.cluster,
        )


@dataclass(frozen=True, eq=False)
class OpenElasticSetting(OpenSetting):
    """A setting with its workload in memory, and everything in it decided."""

    setting: ElasticSetting
    source: ElasticSource
    num_jobs: int
    arrivals: ElasticArrivals
    slots: int
    cluster: ElasticCluster

    @property
    def jobs(self) -> int:
        return self.num_jobs

    @property
    def options(self) -> ElasticCluster:
        return self.cluster

    def sequence(self, seed: int) -> ElasticWorkload:
        return self.source.sequence(self.jobs, self.arrivals, self.slots, SeedTree(seed))

    def check(self, seed: int) -> None:
        try:
            self.world(self.sequence(seed), SeedTree(seed))
        except MemoryError as error:
            hosts = self.options.worker_hosts + self.options.server_hosts
            raise ConfigError(f"{hosts:,} hosts in {self.slots:,} slots do not fit into memory") from error

    def facts(self) -> dict[str, Any]:
        given = {"span": self.arrivals.span}
        return {
            "name": self.source.name,
            "jobs": self.jobs,
            "arrivals": self.arrivals.kind,
            **{name: value for name, value in given.items() if value is not None},
            "slots": self.slots,
            "slot_s": self.source.slot_s,
            "content": self._digest(),
        }

    def notes(self) -> list[str]:
        record = self.source.recorded
        if self.arrivals.kind != "trace" or record is None:
            return []
        found = []
        if self.jobs == record.num_jobs:
            found.append("the whole record is one sequence, the same for every seed: intervals say nothing")
        if self.source.learns_from_itself(self.jobs):
            found.append("too few jobs were recorded before these, so prices are estimated from these very jobs")
        return found

    def world(self, sequence: ElasticWorkload, seeds: SeedTree, *, record: bool = False) -> ElasticWorld:
        return ElasticWorld(sequence, ElasticOptions(self.options), seeds, record=record)

    def run(self, world: ElasticWorld, scheduler: ElasticScheduler, rng: np.random.Generator) -> ElasticResult:
        return run(world, scheduler, rng)

    def measure(self, result: ElasticResult) -> Measured:
        """Events are the rows of what stood somewhere in a slot."""
        return Measured(result_metrics(result), len(result.used), result.decisions)

    def record_run(self, result: ElasticResult, contender: Contender, seed: int) -> ElasticRun:
        return record_elastic_run(result, self.options, contender.name, seed, contender.params)

    def rehearse(self, scheduler: ElasticScheduler, ready: set[object]) -> None:
        seeds = SeedTree(0).child("warm-up")
        slots = min(self.slots, REHEARSED_SLOTS)
        sequence = self.source.sequence(REHEARSED_JOBS, ElasticArrivals("batch"), slots, seeds)
        self.run(self.world(sequence, seeds, record=True), scheduler, seeds.generator())

    def _digest(self) -> str:
        """A fingerprint of what the workload gives: of everything the simulator reads of a drawn sequence."""
        kind = "trace" if self.arrivals.kind == "trace" else "batch"
        jobs = min(self.jobs, CONTENT_JOBS)
        sequence = self.source.sequence(jobs, ElasticArrivals(kind), self.slots, SeedTree(CONTENT_SEED))
        digest = blake2b(repr(self.arrivals.counts).encode(), digest_size=8)
        for table in (sequence, sequence.history):
            for name, value in sorted(vars(table).items()):
                if isinstance(value, np.ndarray) and name in type(table).__dataclass_fields__:
                    digest.update(f"{name} {value.dtype} {value.shape} ".encode())
                    digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()


def result_metrics(result: ElasticResult) -> dict[str, float]:
    """The metrics of a run."""
    workload, used = result.workload, result.used
    workers = used[used[:, 2] == WORKER]
    had = np.bincount(workers[:, 1], workers[:, 4], minlength=workload.num_jobs).astype(np.int64)
    return elastic_metrics(
        slots=workload.slots,
        slot_s=workload.slot_s,
        arrival=workload.arrival,
        finish=result.finish,
        promise=result.promise,
        admitted=result.admitted,
        utility=result.utility,
        worker_slots=had,
        worker_demand=workload.worker_demand,
        worker_capacity=result.worker_capacity.sum(axis=0),
    )
