"""Small elastic schedulers, workloads and runs that tests of several folders share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import (
    BANDWIDTH,
    SERVER,
    WORKER,
    ElasticDecision,
    ElasticInfo,
    ElasticJobs,
    ElasticView,
    Plan,
    Reason,
    servers_needed,
    utility,
)
from dovetail.core.registry import Entry
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.recording_elastic import record_elastic_run
from dovetail.records import ElasticRun
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.workloads.elastic import ElasticWorkload

SMALL = "oasis-small:epochs=[1,4],chunks=[2,6],batches=[5,20],history=30"


@dataclass(frozen=True)
class EagerParams:
    workers: int = field(default=2, metadata={"help": "workers of a job at the most"})


class Eager:
    """Up to so many workers for each job, on the first hosts that have room, in this slot."""

    Params = EagerParams
    KIND = "heuristic"
    TUNE = {"workers": (1, 2, 4)}  # noqa: RUF012

    def __init__(self, params: EagerParams = EagerParams()) -> None:
        self.params = params

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self.asked = 0

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        self.asked += 1
        free = [view.worker_free[0].copy(), view.server_free[0].copy()]
        found = []
        for job in range(len(view.job_id)):
            most = min(self.params.workers, int(view.job_max_workers[job]), int(view.job_work_left[job]))
            for workers in range(most, 0, -1):
                rows = self._place(view, job, workers, free)
                if rows:
                    break
            if not rows:
                continue
            for role, host, amount in rows:
                free[role][host] -= amount * demand(view, job, role)
            role, host, amount = (np.array(column) for column in zip(*rows, strict=True))
            plan = Plan(np.full(len(rows), view.slot), role, host, amount)
            found.append(ElasticDecision(job, plan, reason=Reason.FIRST_ARRIVED))
        return found

    def _place(self, view, job, workers, free):
        bandwidth = (float(demand(view, job, role)[BANDWIDTH]) for role in (WORKER, SERVER))
        wanted = {WORKER: workers, SERVER: int(servers_needed(workers, *bandwidth))}
        rows = []
        for role, left in wanted.items():
            for host in range(len(free[role])):
                need = demand(view, job, role)
                room = np.floor(
                    (free[role][host] + 1e-9) / np.where(need > 0, need, np.inf),
                    where=need > 0,
                    out=np.full(len(need), np.inf),
                )
                amount = int(min(room.min(), left))
                if amount:
                    rows.append((role, host, amount))
                    left -= amount
            if left:
                return []
        return rows


class Promising(Eager):
    """One job at a time: a plan with one worker until it completes, promised and priced; the rest is rejected."""

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        found = []
        free = [view.worker_free.copy(), view.server_free.copy()]
        for job in np.flatnonzero(~view.job_admitted).tolist():
            work, slots = int(view.job_work_left[job]), len(view.worker_free)
            gain = float(utility(view.job_utility[job], np.float64(view.slot + work - 1 - view.job_arrival[job])))
            fits = work <= slots and all(
                (free[role][:work, 0] >= demand(view, job, role)).all() for role in (WORKER, SERVER)
            )
            if not fits:
                text = {"utility": gain, "cost": gain + 1.0, "price": 0.5, "reason": Reason.NO_POSITIVE_PAYOFF}
                found.append(ElasticDecision(job, rejected=True, **text))
                continue
            for role in (WORKER, SERVER):
                free[role][:work, 0] -= demand(view, job, role)
            slot = np.repeat(np.arange(view.slot, view.slot + work), 2)
            ones = np.ones(2 * work, dtype=np.int64)
            plan = Plan(slot, np.tile([WORKER, SERVER], work), 0 * ones, ones)
            last = view.slot + work - 1
            found.append(
                ElasticDecision(
                    job, plan, promise=last, reason=Reason.POSITIVE_PAYOFF, utility=gain, cost=0.25, price=0.125
                )
            )
        return found


class Refuses(Eager):
    """Rejects every job, so none completes."""

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return [
            ElasticDecision(job, rejected=True, reason=Reason.NO_POSITIVE_PAYOFF) for job in range(len(view.job_id))
        ]


def demand(view: ElasticView, job: int, role: int) -> np.ndarray:
    return (view.job_worker_demand if role == WORKER else view.job_server_demand)[job]


def register_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """`elastic/eager`, `elastic/promising` and `elastic/refuses`, until the test ends."""
    for name in ("Eager", "Promising", "Refuses"):
        entry = Entry(f"elastic/{name.lower()}", f"tests.elastic_toys:{name}", "a toy", "a test")
        monkeypatch.setitem(SCHEDULERS._entries, entry.name, entry)


def toy_workload() -> ElasticWorkload:
    """Three jobs on slots of 10 s: 4, 2 and 8 worker-slots; a worker takes a GPU, a server a processor."""
    worker, server = np.zeros((2, 3, 5))
    worker[:, 0], worker[:, BANDWIDTH] = 1, 1
    server[:, 1], server[:, BANDWIDTH] = 1, 2
    seconds = np.array([10.0, 10.0, 10.0]) - 2 * 8e-3  # beside the gradients
    worth = np.array([[10.0, 0.0, 5.0], [20.0, 1.0, 2.0], [40.0, 5.0, 3.0]])
    arrival, work, cap = np.array([0, 1, 1]), np.array([4, 2, 8]), np.array([2, 1, 2])
    return ElasticWorkload(
        slots=6,
        slot_s=10.0,
        job_name=("a", "b", "<c>"),
        arrival=arrival,
        epochs=work // cap,
        chunks=cap,
        batches=np.ones(3, dtype=np.int64),
        batch_s=seconds,
        gradient_mb=np.ones(3),
        worker_demand=worker,
        server_demand=server,
        utility=worth,
        history=ElasticJobs(arrival, work, cap, worker, server, worth),
    )


CLUSTER = ElasticCluster(1, 1, worker_kinds=("g3.8xlarge",), server_kinds=("c4.4xlarge",))
"""Room for two workers: the host has two GPUs."""


def toy_run(scheduler: object | None = None, name: str = "elastic/eager", seed: int = 0) -> ElasticRun:
    """What becomes of `toy_workload` on `CLUSTER`."""
    seeds = SeedTree(seed)
    world = ElasticWorld(toy_workload(), ElasticOptions(CLUSTER), seeds, record=True)
    result = run(world, Eager() if scheduler is None else scheduler, seeds.generator())
    return record_elastic_run(result, CLUSTER, name, seed)
