"""Elastic workloads that are small enough to be solved by hand, or by trying everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import ElasticJobs
from dovetail.workloads.elastic import ElasticWorkload

SLOT_S = 60.0
ONE_HOST = ElasticCluster(1, 1, worker_kinds=("g3.8xlarge",), server_kinds=("c4.4xlarge",))
"""Two GPUs and 32 processors for workers; 16 processors and 25 Gbit/s for parameter servers."""


@dataclass(frozen=True)
class TinyJob:
    """A job in terms of what schedulers see."""

    work: int  # worker-slots
    arrival: int = 0
    most: int = 4  # workers at a time
    gpu: float = 1.0  # of a worker
    cpu: float = 1.0
    bandwidth: float = 1.0
    server_cpu: float = 1.0
    server_bandwidth: float = 5.0
    worth: float = 10.0
    decay: float = 0.0
    due: float = 5.0


def tiny_workload(jobs: Sequence[TinyJob], slots: int) -> ElasticWorkload:
    """These jobs, by arrival; their own history."""
    jobs = sorted(jobs, key=lambda job: job.arrival)
    columns = np.array([(job.arrival, job.work, job.most) for job in jobs], dtype=np.int64).reshape(-1, 3)
    arrival, work, most = (np.ascontiguousarray(column) for column in columns.T)
    ones = np.ones(len(jobs), dtype=np.int64)
    history = ElasticJobs(
        arrival=arrival,
        work=work,
        max_workers=most,
        worker_demand=np.array([(job.gpu, job.cpu, 1.0, 1.0, job.bandwidth) for job in jobs]).reshape(-1, 5),
        server_demand=np.array([(0.0, job.server_cpu, 1.0, 1.0, job.server_bandwidth) for job in jobs]).reshape(-1, 5),
        utility=np.array([(job.worth, job.decay, job.due) for job in jobs]).reshape(-1, 3),
    )
    return ElasticWorkload(
        slots=slots,
        slot_s=SLOT_S,
        job_name=tuple(f"j{number}" for number in range(len(jobs))),
        arrival=arrival,
        epochs=ones,
        chunks=most,
        batches=ones,
        batch_s=SLOT_S * work / most,
        gradient_mb=np.zeros(len(jobs)),
        worker_demand=history.worker_demand,
        server_demand=history.server_demand,
        utility=history.utility,
        history=history,
    )


def random_tiny(seed: int, *, most_jobs: int = 4, most_slots: int = 5) -> tuple[ElasticWorkload, ElasticCluster]:
    """A few jobs on a few hosts, with contention for GPUs, processors or the bandwidth of parameter servers."""
    rng = np.random.default_rng(seed)
    slots = int(rng.integers(max(2, most_slots - 2), most_slots + 1))
    jobs = [
        TinyJob(
            work=int(rng.integers(1, 8)),
            arrival=int(rng.integers(0, slots // 2 + 1)),
            most=int(rng.integers(1, 4)),
            gpu=float(rng.integers(0, 3)),
            cpu=float(rng.choice((1, 8, 11, 17))),
            bandwidth=float(rng.choice((0.5, 2.0, 3.3, 5.0))),
            server_cpu=float(rng.choice((1, 6, 9))),
            server_bandwidth=float(rng.choice((5.0, 7.5, 12.0))),
            worth=float(rng.uniform(20, 100)),
            decay=float(rng.choice((0.0, 0.5, 5.0))),
            due=float(rng.integers(0, slots + 1)),
        )
        for _ in range(int(rng.integers(max(1, most_jobs - 2), most_jobs + 1)))
    ]
    cluster = ElasticCluster(
        worker_hosts=int(rng.integers(1, 3)),
        server_hosts=int(rng.integers(1, 3)),
        worker_kinds=("g3.8xlarge",) if rng.random() < 0.7 else ("g3.8xlarge", "g3.16xlarge"),
        server_kinds=("c4.4xlarge",) if rng.random() < 0.7 else ("c4.4xlarge", "c4.8xlarge"),
    )
    return tiny_workload(jobs, slots), cluster
