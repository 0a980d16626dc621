"""What holds for every elastic scheduler on any workload: the world takes all decisions, and nothing is overdrawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.heuristic.elastic.playing import play_workload

from dovetail.core.elastic import BANDWIDTH, SERVER, WORKER, Reason
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.elastic import ElasticResult
from dovetail.testing.elastic_tiny import random_tiny
from dovetail.workloads.elastic_source import open_elastic

NAMES = [
    "elastic/fifo",
    "elastic/fifo:strict=false,workers=2,placing=first-fit",
    "elastic/drf",
    "elastic/rrh",
    "elastic/rrh:preempt=true,workers=2,threshold=-20",
    "elastic/dorm",
    "elastic/edf",
    "elastic/edf:late_last=true,placing=round-robin",
    "elastic/srtf",
]


def check(result: ElasticResult) -> None:
    """Recounted from the rows of what stood where."""
    workload, used = result.workload, result.used
    roles = (
        (WORKER, result.worker_capacity, workload.worker_demand),
        (SERVER, result.server_capacity, workload.server_demand),
    )
    counts = np.zeros((2, workload.slots, workload.num_jobs))
    for role, capacity, demand in roles:
        taken = np.zeros((workload.slots, *capacity.shape))
        slot, job, _, host, amount = used[used[:, 2] == role].T
        np.add.at(taken, (slot, host), amount[:, None] * demand[job])
        np.add.at(counts[role], (slot, job), amount)
        assert (taken <= capacity * (1 + 1e-6) + 1e-6).all()
    workers, servers = counts
    assert (workers <= workload.chunks).all()
    assert (servers <= workers).all()
    b, server_b = workload.worker_demand[:, BANDWIDTH], workload.server_demand[:, BANDWIDTH]
    assert (workers * b <= servers * server_b + 1e-6).all()
    done = workers.sum(axis=0)
    finished = result.finish >= 0
    assert (done[finished] >= workload.work[finished]).all()
    assert (done[~finished] < workload.work[~finished]).all()
    assert all(row.reason != Reason.UNSTATED for row in result.decision_log)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_on_random_tiny_workloads(name: str, seed: int):
    workload, cluster = random_tiny(seed, most_jobs=7, most_slots=10)
    result = play_workload(SCHEDULERS.create(name), workload, cluster)
    check(result)
    scheduler = SCHEDULERS.create(name)
    again = [play_workload(scheduler, workload, cluster) for _ in range(2)]  # reset forgets
    for other in again:
        assert other.used.tolist() == result.used.tolist()
        assert str(other.decision_log) == str(result.decision_log)  # nan is not equal to itself


@pytest.mark.parametrize("name", NAMES)
def test_on_the_bundled_workload(name: str):
    from dovetail.cluster.elastic import ElasticCluster

    source = open_elastic("oasis-small")
    workload = source.sequence(12, source.arrivals, 30, SeedTree(5))
    result = play_workload(SCHEDULERS.create(name), workload, ElasticCluster(5, 5))
    check(result)
    assert result.total_utility > 0


@pytest.mark.parametrize("name", ["elastic/drf", "elastic/edf", "elastic/srtf"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_whoever_could_work_does(name: str, seed: int):
    """In the last slot with jobs, no further worker of any job there would have fit."""
    workload, cluster = random_tiny(seed, most_jobs=5, most_slots=2)
    result = play_workload(SCHEDULERS.create(name), workload, cluster)
    present = np.flatnonzero((workload.arrival <= 0) & (result.rejected < 0))
    free = [capacity.copy() for capacity in (result.worker_capacity, result.server_capacity)]
    demands = (workload.worker_demand, workload.server_demand)
    have = np.zeros((2, workload.num_jobs), dtype=np.int64)
    for slot, job, role, host, amount in result.used.tolist():
        if slot == 0:
            free[role][host] -= amount * demands[role][job]
            have[role, job] += amount
    for job in present.tolist():
        workers, servers = have[:, job]
        if workers >= min(workload.chunks[job], workload.work[job]):
            continue
        worker_fits = (free[WORKER] >= workload.worker_demand[job] + 1e-6).all(axis=1).any()
        server_fits = (free[SERVER] >= workload.server_demand[job] + 1e-6).all(axis=1).any()
        b, server_b = workload.worker_demand[job, BANDWIDTH], workload.server_demand[job, BANDWIDTH]
        enough = (workers + 1) * b <= servers * server_b
        assert not (worker_fits and (enough or server_fits))
