"""Workers and parameter servers of one slot, put on hosts one by one, compiled.

Arrays: `worker_free` (H, R) and `server_free` (K, R) are what is left and are written to; `worker_demand` and
`server_demand` (J, R) are of one worker or server of each job; `workers` (J, H) and `servers` (J, K) count what stands
where and are written to.  A host that is looked for is the first that fits from the place `start` points to, going
round: `spread` 1 moves on to the next host after each one placed (round robin), 0 stays until the host is full and
begins anew with each job (first fit).
"""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import BANDWIDTH
from dovetail.schedulers.kernels.elastic_costs import servers_for
from dovetail.schedulers.kernels.jit import entry, kernel

TOLERANCE = 1e-9  # of a demand; the calendar's own is larger


@kernel
def find_host(free, demand, start):
    """The first host from `start` on, going round, on which the demand fits; -1 if there is none."""
    hosts, resources = free.shape
    for step in range(hosts):
        host = start + step
        if host >= hosts:
            host -= hosts
        fits = True
        for r in range(resources):
            if demand[r] > free[host, r] + TOLERANCE * (1.0 + demand[r]):
                fits = False
                break
        if fits:
            return host
    return -1


@kernel
def take(free, host, demand, sign):
    for r in range(demand.size):
        free[host, r] -= sign * demand[r]


@kernel
def add_worker(worker_free, server_free, worker_demand, server_demand, spread, start, workers, servers, have):
    """One more worker of a job, with the parameter server it may need: both, or False and nothing has changed.

    `have` (2,) are the job's workers and servers so far; a worker never needs more than one further server.
    """
    host = find_host(worker_free, worker_demand, start[0])
    if host < 0:
        return False
    if servers_for(have[0] + 1, worker_demand[BANDWIDTH], server_demand[BANDWIDTH]) > have[1]:
        server_host = find_host(server_free, server_demand, start[1])
        if server_host < 0:
            return False
        take(server_free, server_host, server_demand, 1)
        servers[server_host] += 1
        have[1] += 1
        start[1] = (server_host + spread) % server_free.shape[0]
    take(worker_free, host, worker_demand, 1)
    workers[host] += 1
    have[0] += 1
    start[0] = (host + spread) % worker_free.shape[0]
    return True


@kernel
def give_back(free, demand, counts):
    for host in range(counts.size):
        if counts[host]:
            take(free, host, demand, -counts[host])
            counts[host] = 0


@entry
def place_in_order(
    worker_free,
    server_free,
    worker_demand,
    server_demand,
    order,
    wanted,
    at_least,
    strict,
    spread,
    start,
    workers,
    servers,
):
    """Jobs in this order, each with as many workers as fit up to `wanted`, or none if that is less than `at_least`.

    `order` (n,) are jobs, `wanted` and `at_least` (J,).  `strict`: the first that gets none ends it.
    """
    have = np.zeros(2, dtype=np.int64)
    for place in range(order.size):
        j = order[place]
        have[:] = 0
        if spread == 0:
            start[:] = 0
        while have[0] < wanted[j] and add_worker(
            worker_free,
            server_free,
            worker_demand[j],
            server_demand[j],
            spread,
            start,
            workers[j],
            servers[j],
            have,
        ):
            pass
        if have[0] < at_least[j]:
            give_back(worker_free, worker_demand[j], workers[j])
            give_back(server_free, server_demand[j], servers[j])
            if strict:
                return


@entry
def place_evenly(
    worker_free,
    server_free,
    worker_demand,
    server_demand,
    order,
    wanted,
    worker_share,
    server_share,
    spread,
    start,
    workers,
    servers,
):
    """Progressive filling: one more worker to the job of the lowest dominant share, until nothing fits.

    `worker_share` and `server_share` (J,) are the dominant shares of one worker and one server; a job's share is the
    larger of those of all its workers and all its servers.  A job that cannot be given another worker is done.  Ties
    go to the first in `order`.  (J, 2) counts are returned.
    """
    jobs = worker_demand.shape[0]
    have = np.zeros((jobs, 2), dtype=np.int64)
    share = np.zeros(jobs)
    left = order.copy()
    while left.size:
        best = 0
        for place in range(1, left.size):
            if share[left[place]] < share[left[best]]:
                best = place
        j = left[best]
        if spread == 0:
            start[:] = 0
        if have[j, 0] < wanted[j] and add_worker(
            worker_free,
            server_free,
            worker_demand[j],
            server_demand[j],
            spread,
            start,
            workers[j],
            servers[j],
            have[j],
        ):
            share[j] = max(have[j, 0] * worker_share[j], have[j, 1] * server_share[j])
        else:
            left = np.concatenate((left[:best], left[best + 1 :]))
    return have


@entry
def place_in_groups(free, demand, group, order, counts, placed):
    """Containers of each job on hosts of each group, first fit; what does not fit is left out.

    `group` (hosts,) numbers the group of each host, `counts` (J, groups) are wanted, `placed` (J, hosts) is added to.
    """
    hosts, resources = free.shape
    for place in range(order.size):
        j = order[place]
        for host in range(hosts):
            wanted = counts[j, group[host]]
            while wanted > 0:
                fits = True
                for r in range(resources):
                    if demand[j, r] > free[host, r] + TOLERANCE * (1.0 + demand[j, r]):
                        fits = False
                if not fits:
                    break
                take(free, host, demand[j], 1)
                placed[j, host] += 1
                wanted -= 1
            counts[j, group[host]] = wanted
