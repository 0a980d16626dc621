"""What a job could do if it had the cluster for itself, and what all jobs together ask of it."""

from __future__ import annotations

import numpy as np

from dovetail.cluster.elastic import halves
from dovetail.cluster.elastic_room import TOLERANCE, held, workers_served
from dovetail.core.elastic import BANDWIDTH, RESOURCES, ElasticJobs, Floats, Ints
from dovetail.workloads.elastic_source import ElasticSource


def most_workers(jobs: ElasticJobs, worker_capacity: Floats, server_capacity: Floats) -> Ints:
    """(J,) workers that an empty cluster has room for at a time, with their parameter servers; 0: not even one.

    At most one for each chunk, and as many as the bandwidth of all parameter servers that fit can serve.
    """
    workers = np.minimum(_fitting(jobs.worker_demand, worker_capacity), jobs.max_workers)
    servers = _fitting(jobs.server_demand, server_capacity)
    return workers_served(workers, servers, jobs.worker_demand, jobs.server_demand)


def alone_slots(jobs: ElasticJobs, worker_capacity: Floats, server_capacity: Floats) -> Floats:
    """(J,) slots that a job takes if it has the cluster for itself; inf where not one worker fits."""
    most = most_workers(jobs, worker_capacity, server_capacity)
    return np.where(most > 0, np.ceil(jobs.work / np.maximum(most, 1)), np.inf)


def mean_demand(jobs: ElasticJobs) -> tuple[Floats, Floats]:
    """(R,), (R,) resource-slots of workers and of parameter servers that a job takes on average.

    Parameter servers are counted as their bandwidth covers that of the workers; whole ones take more.
    """
    work = jobs.work.astype(np.float64)[:, None]
    served = (jobs.worker_demand[:, BANDWIDTH] / jobs.server_demand[:, BANDWIDTH])[:, None]
    return (work * jobs.worker_demand).mean(axis=0), (work * served * jobs.server_demand).mean(axis=0)


def never_fit(source: ElasticSource) -> list[str]:
    """What to tell of recorded jobs of which a worker, or a server, is too large for every host of the setting."""
    record = source.recorded
    if record is None:
        return []
    found = []
    demands = (record.jobs.worker_demand, record.jobs.server_demand)
    for role, demand, capacity in zip(
        ("worker", "parameter server"), demands, halves(source.servers).capacities(), strict=True
    ):
        for job in np.flatnonzero(_fitting(demand, capacity) == 0).tolist():
            short = np.flatnonzero(demand[job] > capacity.max(axis=0) + TOLERANCE * (1 + demand[job])).tolist()
            lacks = [f"{demand[job, r]:g} {RESOURCES[r]} (a host has {capacity[:, r].max():g} at most)" for r in short]
            why = " and ".join(lacks) or "more than any one host has"
            where = f"the {source.servers} servers it is for"
            found.append(f"job {record.job_name[job]} can never run on {where}: a {role} needs {why}")
    return found


def _fitting(demand: Floats, capacity: Floats) -> Floats:
    """(J,) how many of each fit on all hosts together, if there is nothing else on them."""
    kinds, hosts = np.unique(capacity, axis=0, return_counts=True)  # a cluster may have 100,000 hosts of a few kinds
    total: Floats = held(kinds, demand) @ hosts
    return total
