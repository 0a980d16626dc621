"""Runs of tiny elastic workloads for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import WORKER
from dovetail.core.seeds import SeedTree
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticScheduler, ElasticWorld, run
from dovetail.testing.elastic_tiny import ONE_HOST, TinyJob, tiny_workload
from dovetail.workloads.elastic import ElasticWorkload


def play(scheduler: ElasticScheduler, jobs: Sequence[TinyJob], slots: int = 10, cluster: ElasticCluster = ONE_HOST):
    return play_workload(scheduler, tiny_workload(jobs, slots), cluster)


def play_workload(scheduler: ElasticScheduler, workload: ElasticWorkload, cluster: ElasticCluster) -> ElasticResult:
    world = ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0), record=True)
    return run(world, scheduler, np.random.default_rng(0))


def workers_in(result: ElasticResult, slot: int) -> list[int]:
    """Workers of each job in a slot."""
    counts = np.zeros(result.workload.num_jobs, dtype=np.int64)
    for at, job, role, _host, amount in result.used.tolist():
        if at == slot and role == WORKER:
            counts[job] += amount
    return counts.tolist()
