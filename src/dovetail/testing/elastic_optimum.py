"""The offline optimum of tiny elastic workloads by trying everything: what solvers are held to.

All numbers of workers that can stand in a slot are listed (`divisions`); then the best sequence of them is found slot
by slot, over all states of work left.  Nothing is shared with the solver in `schedulers/optimise/elastic`.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import BANDWIDTH, Floats, servers_needed, utility
from dovetail.workloads.elastic import ElasticWorkload

Counts = tuple[int, ...]  # one for each job


def divisions(workload: ElasticWorkload, cluster: ElasticCluster) -> set[Counts]:
    """All numbers of workers that the jobs can have in one slot, together."""
    worker_capacity, server_capacity = cluster.capacities()
    most = tuple(int(chunks) for chunks in workload.chunks)
    b, server_b = workload.worker_demand[:, BANDWIDTH], workload.server_demand[:, BANDWIDTH]
    served = _packable(server_capacity, workload.server_demand, most)
    found = set()
    for counts in _packable(worker_capacity, workload.worker_demand, most):
        if tuple(int(servers_needed(y, b[i], server_b[i])) for i, y in enumerate(counts)) in served:
            found.add(counts)
    return found


def _packable(capacity: Floats, demand: Floats, most: Counts) -> set[Counts]:
    """All numbers of containers, up to `most`, that fit the hosts, each wholly on one."""
    sums: set[Counts] = {(0,) * len(most)}
    for host in capacity:
        fitting = [
            counts
            for counts in product(*(range(one + 1) for one in most))
            if (np.array(counts) @ demand <= host + 1e-6).all()
        ]
        totals = (tuple(a + b for a, b in zip(before, counts, strict=True)) for before in sums for counts in fitting)
        sums = {total for total in totals if all(t <= m for t, m in zip(total, most, strict=True))}
    return sums


def best_total_utility(workload: ElasticWorkload, cluster: ElasticCluster) -> float:
    """The largest total utility of any schedule."""
    possible = sorted(divisions(workload, cluster))
    arrival = workload.arrival.tolist()

    def worth(job: int, slot: int) -> float:
        return float(utility(workload.utility[job], np.array(slot - arrival[job], dtype=np.float64)))

    @cache
    def best(slot: int, left: Counts) -> float:
        if slot == workload.slots or not any(left):
            return 0.0
        value = 0.0
        for counts in possible:
            if any(y and (arrival[i] > slot or not left[i]) for i, y in enumerate(counts)):
                continue
            after = tuple(max(w - y, 0) for w, y in zip(left, counts, strict=True))
            gained = sum(worth(i, slot) for i, w in enumerate(after) if left[i] and not w)
            value = max(value, gained + best(slot + 1, after))
        return value

    return best(0, tuple(workload.work.tolist()))
