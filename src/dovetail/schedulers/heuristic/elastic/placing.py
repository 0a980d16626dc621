"""Putting workers and parameter servers of jobs on hosts, for the present slot.

A worker and the parameter server it may need are placed together or not at all, so whatever stands obeys the
bandwidth rule.  Hosts are taken in turn (`round-robin`, which the authors of OASiS use for all their baselines) or
filled one after the other (`first-fit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dovetail.cluster.elastic_room import held, workers_served
from dovetail.core.elastic import SERVER, WORKER, ElasticInfo, ElasticView, Floats, Ints, Plan

Placing = Literal["round-robin", "first-fit"]
PLACING_HELP = {"help": "hosts are taken in turn (round-robin) or filled one after the other (first-fit)"}


class Standing(NamedTuple):
    """The workers and parameter servers of one job in one slot."""

    workers: Ints  # (H,) on each worker host
    servers: Ints  # (K,) on each server host

    def plan(self, slot: int) -> Plan:
        worker_hosts, server_hosts = np.flatnonzero(self.workers), np.flatnonzero(self.servers)
        rows = len(worker_hosts) + len(server_hosts)
        return Plan(
            slot=np.full(rows, slot, dtype=np.int64),
            role=np.repeat(np.array((WORKER, SERVER), dtype=np.int64), (len(worker_hosts), len(server_hosts))),
            host=np.concatenate((worker_hosts, server_hosts)),
            amount=np.concatenate((self.workers[worker_hosts], self.servers[server_hosts])),
        )


@dataclass
class SlotRoom:
    """What is free in the present slot and who has been put there; jobs are job indexes of the view."""

    slot: int
    worker_free: Floats  # (H, R)
    server_free: Floats  # (K, R)
    worker_demand: Floats  # (J, R)
    server_demand: Floats  # (J, R)
    workers: Ints  # (J, H) what was placed here
    servers: Ints  # (J, K)
    placing: Placing

    @classmethod
    def of(cls, view: ElasticView, placing: Placing) -> SlotRoom:
        """All that nobody has booked."""
        jobs = len(view.job_id)
        return cls(
            slot=view.slot,
            worker_free=view.worker_free[0].copy(),
            server_free=view.server_free[0].copy(),
            worker_demand=view.job_worker_demand,
            server_demand=view.job_server_demand,
            workers=np.zeros((jobs, view.worker_free.shape[1]), dtype=np.int64),
            servers=np.zeros((jobs, view.server_free.shape[1]), dtype=np.int64),
            placing=placing,
        )

    def put_in_order(self, order: Ints, wanted: Ints, at_least: Ints, *, strict: bool = False) -> None:
        """Jobs in this order, each with as many workers as fit up to `wanted`, none if that is below `at_least`.

        `wanted` and `at_least` have an entry for each job of the view.  `strict`: the first that gets none ends it.
        """
        from dovetail.schedulers.kernels.elastic_placing import place_in_order

        start = np.zeros(2, dtype=np.int64)
        demands = (self.worker_demand, self.server_demand)
        free = (self.worker_free, self.server_free)
        place_in_order(
            *free, *demands, order, wanted, at_least, strict, self._spread, start, self.workers, self.servers
        )

    def put_evenly(self, order: Ints, wanted: Ints, worker_share: Floats, server_share: Floats) -> Ints:
        """Progressive filling by dominant shares, which are given for one worker and one parameter server of each job.

        Ties go to the first in `order`.  How many workers and servers each job of the view has now: (J, 2).
        """
        from dovetail.schedulers.kernels.elastic_placing import place_evenly

        start = np.zeros(2, dtype=np.int64)
        demands, shares = (self.worker_demand, self.server_demand), (worker_share, server_share)
        free = (self.worker_free, self.server_free)
        counts: Ints = place_evenly(
            *free, *demands, order, wanted, *shares, self._spread, start, self.workers, self.servers
        )
        return counts

    def put_back(self, job: int, standing: Standing) -> bool:
        """The job exactly where it stood before, if that is still free."""
        worker_left = self.worker_free - standing.workers[:, None] * self.worker_demand[job]
        server_left = self.server_free - standing.servers[:, None] * self.server_demand[job]
        if min(worker_left.min(), server_left.min()) < -1e-7:  # sums in another order differ by rounding
            return False
        self.worker_free, self.server_free = worker_left, server_left
        self.workers[job], self.servers[job] = standing.workers, standing.servers
        return True

    def standing(self, job: int) -> Standing:
        return Standing(self.workers[job], self.servers[job])

    def placed(self) -> Sequence[int]:
        """Jobs with a worker."""
        jobs: list[int] = np.flatnonzero(self.workers.any(axis=1)).tolist()
        return jobs

    @property
    def _spread(self) -> int:
        return int(self.placing == "round-robin")


def most_workers(info: ElasticInfo, worker_demand: Floats, server_demand: Floats) -> Ints:
    """How many workers of each job, with their parameter servers, an empty cluster holds.  Demands: (J, R)."""
    workers = held(info.worker_capacity, worker_demand).sum(axis=1)
    servers = held(info.server_capacity, server_demand).sum(axis=1)
    return workers_served(workers, servers, worker_demand, server_demand)


def dominant_shares(info: ElasticInfo, worker_demand: Floats, server_demand: Floats) -> tuple[Floats, Floats]:
    """The largest share of any resource of the cluster that one worker, and one parameter server, of each job takes.

    Workers and parameter servers live on hosts of their own, so the processors (or memory, ...) of one kind of host
    and of the other are different resources.
    """
    return _share(info.worker_capacity, worker_demand), _share(info.server_capacity, server_demand)


def _share(capacity: Floats, demand: Floats) -> Floats:
    total = capacity.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(demand > 0, demand / total, 0.0).max(axis=1)
    return share
