"""elastic/dorm: the division that uses most of the cluster, within bounds on unfairness and change (Dorm, 2017).

P. Sun et al., "Towards Distributed Machine Learning in Shared Clusters: A Dynamically-Partitioned Approach"; a baseline
of OASiS (INFOCOM 2018).  Whenever a job has arrived or ended, a mixed-integer program (`division`) says how many
workers and parameter servers of each job stand on each kind of host: the sum of the utilisations of all resources is
maximal, every job has workers within its bounds, the fairness loss (the sum of what the jobs' dominant shares differ
from those of dominant resource fairness) is at most `fairness` times twice the number of resources, and of those that
have workers at most the part `change`, rounded up, gets other numbers.

Departures.  Jobs for which there is no room wait, where the original program has no solution; of those without workers
the `queue` that came first are considered, or under overload the program would grow with the number of jobs.  If the
bounds contradict each other, fairness gives way, by as little as possible.  Parameter servers follow from the workers,
and count for utilisation in proportion to them, or it would pay to set up more than are of use.  The program counts
containers by kind of host; they are then put on hosts first fit, largest first, those that stay staying where they are,
and what does not fit for want of a host with enough of everything is left out until the next division.

A division is first looked for by exchanges (`exchange`), and taken if it is within `gap` of the program's linear
relaxation, so at most that far from the best; these look for half of it.  Otherwise the program is searched from there
on, which ends after `nodes` nodes, or within `gap` of the best possible, and the best division found is taken: that is
the same on any machine.  After `time_s` a search ends in any case.  If there is no division by then, everybody keeps
what he has, which the reason says (LAST_DIVISION), as it does between divisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import (
    BANDWIDTH,
    RESOURCES,
    ElasticDecision,
    ElasticInfo,
    ElasticView,
    Floats,
    Ints,
    Reason,
    servers_needed,
)
from dovetail.schedulers.heuristic.elastic.division import Division, Kinds
from dovetail.schedulers.heuristic.elastic.placing import SlotRoom, Standing, dominant_shares
from dovetail.schedulers.heuristic.elastic.slot_scheduler import SlotScheduler, Waiting
from dovetail.schedulers.optimise.program import Limits


class Dorm(SlotScheduler):
    ALL_UP_TO_JOBS: ClassVar = 300  # five hundredths of a second for every arrival and completion
    TUNE: ClassVar = {"fairness": (0.02, 0.05, 0.1, 0.2, 1.0), "change": (0.0, 0.1, 0.2, 0.5, 1.0)}

    @dataclass(frozen=True)
    class Params:
        fairness: float = field(default=0.1, metadata={"help": "largest fairness loss, as part of any possible"})
        change: float = field(default=0.1, metadata={"help": "part of the running jobs that may get other numbers"})
        least: int = field(default=1, metadata={"help": "least workers of a job that has any"})
        queue: int = field(default=40, metadata={"help": "jobs without workers that are considered at a time"})
        nodes: int = field(default=1, metadata={"help": "nodes of the search after which it ends"})
        gap: float = field(default=0.06, metadata={"help": "relative distance to the best possible that is enough"})
        time_s: float = field(default=60.0, metadata={"help": "seconds after which a search ends in any case"})

        def __post_init__(self) -> None:
            for name in ("fairness", "change", "gap"):
                if not 0.0 <= getattr(self, name) <= 1.0:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected a part from 0 to 1")
            for name in ("least", "queue", "nodes"):
                if getattr(self, name) < 1:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected 1 or more")
            if not self.time_s > 0.0:
                raise ValueError(f"time_s is {self.time_s}; expected more than 0")

    def __init__(self, params: Params = Params()) -> None:
        super().__init__("first-fit")
        self.params = params
        self._standing: dict[int, Standing] = {}  # job id -> where it stood in the last slot
        self._known: frozenset[int] = frozenset()  # job ids of the last slot
        self._reasons: dict[int, Reason] = {}  # job index -> of this slot

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._standing, self._known, self._reasons = {}, frozenset(), {}

    def reason(self, job: int) -> Reason:
        return self._reasons.get(job, Reason.LAST_DIVISION)

    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        jobs = waiting.jobs
        job_id = view.job_id[jobs].tolist()
        known = frozenset(job_id)
        before = {job: self._standing[i] for job, i in zip(jobs.tolist(), job_id, strict=True) if i in self._standing}
        self._reasons = {}
        found = None if known == self._known else self._divide(view, waiting, room, before)
        if found is None:
            for job, standing in before.items():
                room.put_back(job, standing)
        else:
            self._place(view, room, before, *found)
        self._known = known
        self._standing = {int(view.job_id[job]): room.standing(job) for job in room.placed()}
        return ()

    def _divide(
        self, view: ElasticView, waiting: Waiting, room: SlotRoom, before: dict[int, Standing]
    ) -> tuple[Kinds, Kinds, Ints, Ints] | None:
        """Kinds of hosts, and (J, kinds) workers and servers of every job of the view."""
        known = np.array([job in before for job in waiting.jobs.tolist()], dtype=np.bool_)
        jobs = waiting.jobs[known | (np.cumsum(~known) <= self.params.queue)]
        if not len(jobs):
            return None
        workers, servers = Kinds.of(room.worker_free), Kinds.of(room.server_free)
        worker_demand, server_demand = view.job_worker_demand, view.job_server_demand
        worker_share, server_share = dominant_shares(self.info, worker_demand, server_demand)
        fair = SlotRoom.of(view, "first-fit").put_evenly(jobs, waiting.fit, worker_share, server_share)[:, 0]
        ratio = worker_demand[:, BANDWIDTH] / np.maximum(server_demand[:, BANDWIDTH], 1e-300)
        use = _use(self.info.worker_capacity, worker_demand)
        use += ratio * _use(self.info.server_capacity, server_demand)
        stood_workers, stood_servers = np.zeros_like(room.workers), np.zeros_like(room.servers)
        for job, standing in before.items():
            stood_workers[job], stood_servers[job] = standing
        division = Division(
            workers=workers,
            servers=servers,
            worker_demand=worker_demand[jobs],
            server_demand=server_demand[jobs],
            use=use[jobs],
            share=np.maximum(worker_share, ratio * server_share)[jobs],
            least=np.minimum(waiting.fit[jobs], self.params.least),
            most=waiting.fit[jobs],
            fair=fair[jobs],
            running=stood_workers[jobs].sum(axis=1) > 0,
            worker_before=workers.count_by(stood_workers[jobs]),
            server_before=servers.count_by(stood_servers[jobs]),
            fairness=self.params.fairness * 2 * len(RESOURCES),
            changes=int(np.ceil(self.params.change * len(before) - 1e-9)),
        )
        found = division.solve(Limits(self.params.time_s, self.params.nodes, self.params.gap))
        if found is None:
            return None
        counts = []
        for kinds, rows in zip((workers, servers), found, strict=True):
            count = np.zeros((len(view.job_id), len(kinds.hosts)), dtype=np.int64)
            count[jobs] = rows
            counts.append(count)
        return workers, servers, counts[0], counts[1]

    def _place(
        self,
        view: ElasticView,
        room: SlotRoom,
        before: dict[int, Standing],
        worker_kinds: Kinds,
        server_kinds: Kinds,
        workers: Ints,
        servers: Ints,
    ) -> None:
        """Those that stay, then others: those that had workers first, large demands before small ones."""
        from dovetail.schedulers.kernels.elastic_placing import place_in_groups

        for job, standing in before.items():
            same = worker_kinds.count_by(standing.workers[None])[0] == workers[job]
            if same.all() and room.put_back(job, standing):
                workers[job] = servers[job] = 0
        others = np.flatnonzero(workers.any(axis=1))
        size = dominant_shares(self.info, view.job_worker_demand, view.job_server_demand)
        new = np.array([job not in before for job in others.tolist()], dtype=np.bool_)
        order = others[np.lexsort((-np.maximum(*size)[others], new))]
        place_in_groups(room.worker_free, view.job_worker_demand, worker_kinds.group, order, workers, room.workers)
        place_in_groups(room.server_free, view.job_server_demand, server_kinds.group, order, servers, room.servers)
        for job in order.tolist():
            self._reasons[job] = Reason.MAXIMAL_UTILISATION
            b, server_b = view.job_worker_demand[job, BANDWIDTH], view.job_server_demand[job, BANDWIDTH]
            count, serving = int(room.workers[job].sum()), int(room.servers[job].sum())
            while servers_needed(count, b, server_b) > serving:
                count -= 1
            _trim(room.workers[job], room.worker_free, view.job_worker_demand[job], count)
            needed = int(servers_needed(count, b, server_b))
            _trim(room.servers[job], room.server_free, view.job_server_demand[job], needed)


def _use(capacity: Floats, demand: Floats) -> Floats:
    """(J,) the sum over all resources of the part of the cluster that one container takes."""
    total = capacity.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        use: Floats = np.where(demand > 0, demand / total, 0.0).sum(axis=1)
    return use


def _trim(placed: Ints, free: Floats, demand: Floats, count: int) -> None:
    """Take containers away, from the last hosts on, until so many are left."""
    surplus = int(placed.sum()) - count
    for host in np.flatnonzero(placed)[::-1].tolist():
        taken = min(surplus, int(placed[host]))
        placed[host] -= taken
        free[host] += taken * demand
        surplus -= taken
