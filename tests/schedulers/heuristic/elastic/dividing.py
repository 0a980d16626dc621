"""Divisions to try elastic/dorm on, and what they are worth, reckoned in the plainest way."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from dovetail.core.elastic import BANDWIDTH
from dovetail.schedulers.heuristic.elastic.division import Division, Kinds
from dovetail.schedulers.heuristic.elastic.exchange import PENALTY


def random_division(seed: int) -> tuple[Division, float]:
    """A division among two jobs on two worker hosts and one server host, and the best value of all there are."""
    rng = np.random.default_rng(seed)
    jobs = 2
    worker_demand = np.c_[
        rng.integers(0, 3, jobs), rng.integers(1, 4, jobs), np.ones((jobs, 2)), rng.uniform(0.5, 3, jobs)
    ]
    server_demand = np.c_[np.zeros(jobs), rng.integers(1, 4, jobs), np.ones((jobs, 2)), rng.uniform(3, 5, jobs)]
    workers = Kinds.of(np.array([(2.0, 4.0, 9.0, 9.0, 9.0), (3.0, 3.0, 9.0, 9.0, 9.0)]))
    servers = Kinds.of(np.array([(0.0, 5.0, 9.0, 9.0, 15.0)]))
    most = rng.integers(1, 4, jobs)
    division = Division(
        workers=workers,
        servers=servers,
        worker_demand=worker_demand.astype(float),
        server_demand=server_demand.astype(float),
        use=rng.uniform(0.1, 1.0, jobs),
        share=rng.uniform(0.1, 0.5, jobs),
        least=np.minimum(most, rng.integers(1, 3)),
        most=most,
        fair=rng.integers(0, 3, jobs),
        running=np.zeros(jobs, dtype=np.bool_),
        worker_before=np.zeros((jobs, 2), dtype=np.int64),
        server_before=np.zeros((jobs, 1), dtype=np.int64),
        fairness=float(rng.choice((0.0, 0.2, 0.5, 2.0))),
        changes=int(rng.integers(0, jobs + 1)),
    )
    possible = list(everything(division))
    if rng.random() < 0.7:  # some were there before
        y, z = possible[int(rng.integers(len(possible)))]
        division = Division(
            **{**vars(division), "worker_before": y, "server_before": z, "running": y.sum(axis=1) > 0},
        )
    return division, max(value_of(division, y, z) for y, z in possible)


def everything(division: Division):
    """All workers and servers within capacity, bandwidth and bounds, whoever stood there before."""
    jobs, kinds = division.worker_before.shape
    b, server_b = division.worker_demand[:, BANDWIDTH], division.server_demand[:, BANDWIDTH]
    for y_flat in product(range(4), repeat=jobs * kinds):
        y = np.array(y_flat).reshape(jobs, kinds)
        total = y.sum(axis=1)
        within = ((total >= division.least) & (total <= division.most)) | (total == 0)
        if not within.all() or (y.T @ division.worker_demand > division.workers.free + 1e-9).any():
            continue
        for z_flat in product(range(4), repeat=jobs):
            z = np.array(z_flat).reshape(jobs, 1)
            if (z.T @ division.server_demand > division.servers.free + 1e-9).any():
                continue
            if (total * b <= z[:, 0] * server_b + 1e-9).all() and (z[:, 0] <= np.ceil(total * b / server_b)).all():
                yield y, z


def value_of(division: Division, y: np.ndarray, z: np.ndarray) -> float:
    """The objective; -inf for what the bounds on change and on running jobs forbid."""
    total, running = y.sum(axis=1), division.running
    changed = (y != division.worker_before).any(axis=1) | (z != division.server_before).any(axis=1)
    if (running & (total < division.least)).any() or (changed & running).sum() > division.changes:
        return float("-inf")
    loss = float((division.share * np.abs(total - division.fair)).sum())
    return float(division.use @ total) - PENALTY * max(0.0, loss - division.fairness)


def contended_division(jobs: int = 40, hosts: int = 6, seed: int = 3, **others: object) -> Division:
    """Half of the jobs have a worker each, of which a tenth may change; the other half would like some."""
    rng = np.random.default_rng(seed)
    worker_demand = np.c_[rng.integers(0, 3, jobs), rng.integers(1, 5, jobs), np.ones((jobs, 2)), np.ones(jobs)]
    server_demand = np.c_[np.zeros(jobs), rng.integers(1, 4, jobs), np.ones((jobs, 2)), np.full(jobs, 4.0)]
    free = np.array([(8.0, 32.0, 99.0, 99.0, 99.0)] * hosts)
    workers, servers = Kinds.of(free), Kinds.of(free)
    running = np.arange(jobs) < jobs // 2
    division = Division(
        workers=workers,
        servers=servers,
        worker_demand=worker_demand.astype(float),
        server_demand=server_demand.astype(float),
        use=(worker_demand / free.sum(axis=0)).sum(axis=1),
        share=(worker_demand / free.sum(axis=0)).max(axis=1),
        least=np.ones(jobs, dtype=np.int64),
        most=np.full(jobs, 8),
        fair=np.full(jobs, 2),
        running=running,
        worker_before=running[:, None].astype(np.int64),
        server_before=running[:, None].astype(np.int64),
        fairness=1.0,
        changes=2,
    )
    return replace(division, **others)
