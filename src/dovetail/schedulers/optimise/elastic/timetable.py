"""Who stands where in every slot, put together job by job: where solutions come from that need no proof.

`Timetable.complete` gives a job as many workers as fit from its arrival on until its work is done, or nothing.  Done
for all jobs in some order, that is a feasible solution at once; done for those that a rounded solution left out, a
repair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dovetail.core.elastic import SERVER, WORKER, ElasticInfo, ElasticJobs, Floats, Ints, Plan, utility
from dovetail.schedulers.heuristic.elastic.placing import most_workers


@dataclass(frozen=True, eq=False)
class Instance:
    """Jobs, slots and hosts, and what follows from them."""

    slots: int
    worker_capacity: Floats  # (H, R)
    server_capacity: Floats  # (K, R)
    jobs: ElasticJobs
    most: Ints  # (J,) workers at a time: the cap, the work, and what an empty cluster holds
    earliest: Ints  # (J,) slot of completion at the best; `slots` if that is not before the end
    value: Floats  # (J, slots) utility of completing in a slot; 0 before `earliest`

    @classmethod
    def of(cls, info: ElasticInfo, jobs: ElasticJobs) -> Instance:
        most = most_workers(info, jobs.worker_demand, jobs.server_demand)
        most = np.minimum(np.minimum(most, jobs.max_workers), jobs.work)
        needed = np.ceil(jobs.work / np.maximum(most, 1)).astype(np.int64)
        earliest = np.where(most > 0, np.minimum(jobs.arrival + needed - 1, info.slots), info.slots)
        slot = np.arange(info.slots)
        value = utility(jobs.utility[:, None, :], (slot - jobs.arrival[:, None]).astype(np.float64))
        value = np.where(slot >= earliest[:, None], value, 0.0)
        return cls(info.slots, info.worker_capacity, info.server_capacity, jobs, most, earliest, value)


@dataclass(eq=False)
class Timetable:
    instance: Instance
    worker_free: Floats  # (T, H, R)
    server_free: Floats  # (T, K, R)
    workers: Ints  # (T, J, H)
    servers: Ints  # (T, J, K)

    @classmethod
    def empty(cls, instance: Instance) -> Timetable:
        slots, jobs = instance.slots, len(instance.jobs)
        return cls(
            instance=instance,
            worker_free=np.repeat(instance.worker_capacity[None], slots, axis=0),
            server_free=np.repeat(instance.server_capacity[None], slots, axis=0),
            workers=np.zeros((slots, jobs, len(instance.worker_capacity)), dtype=np.int64),
            servers=np.zeros((slots, jobs, len(instance.server_capacity)), dtype=np.int64),
        )

    def put(self, slot: int, order: Ints, wanted: Ints) -> None:
        """Jobs in this order, first fit, each with as many workers as fit up to what is wanted of it (J,)."""
        from dovetail.schedulers.kernels.elastic_placing import place_in_order

        jobs = self.instance.jobs
        place_in_order(
            self.worker_free[slot],
            self.server_free[slot],
            jobs.worker_demand,
            jobs.server_demand,
            order,
            wanted,
            np.ones_like(wanted),
            False,
            0,
            np.zeros(2, dtype=np.int64),
            self.workers[slot],
            self.servers[slot],
        )

    def complete(self, job: int) -> bool:
        """A job that has nothing yet, from its arrival on with all that fits, until its work is done; or not at all."""
        left, wanted = int(self.instance.jobs.work[job]), np.zeros(len(self.instance.jobs), dtype=np.int64)
        alone = np.array((job,), dtype=np.int64)
        for slot in range(int(self.instance.jobs.arrival[job]), self.instance.slots):
            wanted[job] = min(left, int(self.instance.most[job]))
            self.put(slot, alone, wanted)
            left -= int(self.workers[slot, job].sum())
            if left <= 0:
                return True
        self.remove(job)
        return False

    def remove(self, job: int) -> None:
        jobs = self.instance.jobs
        self.worker_free += self.workers[:, job, :, None] * jobs.worker_demand[job]
        self.server_free += self.servers[:, job, :, None] * jobs.server_demand[job]
        self.workers[:, job] = 0
        self.servers[:, job] = 0

    def finish(self) -> Ints:
        """(J,) slot of completion, -1 = it does not."""
        done = self.workers.sum(axis=2).cumsum(axis=0) >= self.instance.jobs.work
        return np.where(done.any(axis=0), done.argmax(axis=0), -1)

    def repair(self, order: Iterable[int]) -> None:
        """Jobs that do not complete get out; then, in this order, all that can be completed are."""
        for job in np.flatnonzero(self.finish() < 0).tolist():
            self.remove(job)
        missing = self.finish() < 0
        for job in order:
            if missing[job] and self.instance.most[job] > 0:
                self.complete(job)

    def utility(self) -> float:
        finish = self.finish()
        jobs = np.flatnonzero(finish >= 0)
        return float(self.instance.value[jobs, finish[jobs]].sum())

    def plan(self, job: int) -> Plan:
        """Up to its completion."""
        last = int(self.finish()[job]) + 1
        parts = []
        for role, counts in ((WORKER, self.workers), (SERVER, self.servers)):
            slot, host = np.nonzero(counts[:last, job])
            parts.append((slot, np.full(len(slot), role), host, counts[slot, job, host]))
        return Plan(*(np.concatenate(columns).astype(np.int64) for columns in zip(*parts, strict=True)))


def best_in_order(instance: Instance) -> Timetable:
    """The best of a few orders of jobs: worth for the work, work, due date, worth."""
    jobs = instance.jobs
    worth = instance.value.max(axis=1, initial=0.0)
    keys = (-worth / jobs.work, jobs.work, jobs.arrival + jobs.utility[:, 2], -worth)
    found: Timetable | None = None
    for key in keys:
        table = Timetable.empty(instance)
        table.repair(np.argsort(key, kind="stable").tolist())
        if found is None or table.utility() > found.utility():
            found = table
    assert found is not None
    return found
