"""Divisions of elastic/dorm without a search among whole numbers: rounded, filled, and made better by exchanges.

One begins with what the jobs had, another with the relaxation of the program rounded down, for the jobs without workers
and those running ones that it changes most.  Both are filled up by what raises the objective most, and then improved
until they are as good as asked for: workers of one job are taken away, or its change is undone, the free room is given
to whoever gains most by it, and the better division is kept; when that does not help any more, the same is tried with
two jobs, at most `TRIALS` times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.core.elastic import BANDWIDTH, Bools, Floats, Ints, servers_needed

if TYPE_CHECKING:
    from dovetail.schedulers.heuristic.elastic.division import Division
    from dovetail.schedulers.kernels.elastic_division import Divided, Rules

PENALTY = 100.0  # of a unit of share beyond the fairness bound; all use together is at most the number of resources
TRIALS = 3000  # exchanges of two jobs; the most that one of 140 jobs takes a tenth of a second for


class Found(NamedTuple):
    """A division; `objective` is -inf if it does not keep to all bounds."""

    workers: Ints  # (J, worker kinds)
    servers: Ints  # (J, server kinds)
    objective: float


def exchanged(division: Division, relaxed: Floats | None, target: float) -> Found:
    """The better of the two, or the first that reaches the target; `relaxed`: (J, worker kinds)."""
    from dovetail.schedulers.kernels.elastic_exchange import approach, improve

    rules, best = _rules(division), before(division)
    for wanted in (None,) if relaxed is None else (relaxed, None):
        now, *room = (_divided(division) for _ in range(3))
        if wanted is not None:
            approach(rules, now, wanted, _chosen(division, wanted))
        improve(rules, now, *room, target, TRIALS)
        best = max(best, judged(division, now.workers, now.servers), key=lambda found: found.objective)
        if best.objective >= target:
            break
    return best


def before(division: Division) -> Found:
    """Everything as it was."""
    return judged(division, division.worker_before, division.server_before)


def judged(division: Division, workers: Ints, servers: Ints) -> Found:
    """What a division is worth, reckoned anew; it is held to every bound of the program."""
    total, running = workers.sum(axis=1), division.running
    b, server_b = division.worker_demand[:, BANDWIDTH], division.server_demand[:, BANDWIDTH]
    kept = (
        (workers.T @ division.worker_demand <= division.workers.capacity * (1 + 1e-9)).all()
        and (servers.T @ division.server_demand <= division.servers.capacity * (1 + 1e-9)).all()
        and (workers >= 0).all()
        and (servers.sum(axis=1) >= servers_needed(total, b, server_b)).all()
        and (total <= division.most).all()
        and ((total >= division.least) | ((total == 0) & ~running)).all()
        and (changed(division, workers, servers)).sum() <= division.changes
        and all((count <= most).all() for count, most in zip((workers, servers), division.most_by_kind(), strict=True))
    )
    value = float(division.use @ total) - PENALTY * max(0.0, float(loss(division, total).sum()) - division.fairness)
    return Found(workers, servers, value if kept else -np.inf)


def loss(division: Division, total: Ints) -> Floats:
    """(J,) of fairness, with so many workers."""
    lost: Floats = division.share * np.abs(total - division.fair)
    return lost


def changed(division: Division, workers: Ints, servers: Ints) -> Bools:
    """(J,) runs, and has other numbers than before."""
    others = (workers != division.worker_before).any(axis=1) | (servers != division.server_before).any(axis=1)
    found: Bools = division.running & others
    return found


def _chosen(division: Division, relaxed: Floats) -> Bools:
    """(J,) all but those running jobs that stay as they are: as many change as may, whom the relaxation moves most."""
    running = np.flatnonzero(division.running)
    moved = (division.use * np.abs(relaxed.sum(axis=1) - division.worker_before.sum(axis=1)))[running]
    chosen = np.ones(len(division.most), dtype=np.bool_)
    chosen[running[np.argsort(-moved, kind="stable")[division.changes :]]] = False
    return chosen


def _rules(division: Division) -> Rules:
    from dovetail.schedulers.kernels.elastic_division import Rules

    worker_most, server_most = division.most_by_kind()
    return Rules(
        worker_demand=np.ascontiguousarray(division.worker_demand, dtype=np.float64),
        server_demand=np.ascontiguousarray(division.server_demand, dtype=np.float64),
        worker_most=worker_most.astype(np.int64),
        server_most=server_most.astype(np.int64),
        least=division.least.astype(np.int64),
        most=division.most.astype(np.int64),
        use=division.use.astype(np.float64),
        share=division.share.astype(np.float64),
        fair=division.fair.astype(np.int64),
        running=division.running.astype(np.bool_),
        worker_before=division.worker_before.astype(np.int64, order="C"),
        server_before=division.server_before.astype(np.int64, order="C"),
        fairness=float(division.fairness),
        penalty=PENALTY,
        changes=int(division.changes),
    )


def _divided(division: Division) -> Divided:
    """What the jobs had."""
    from dovetail.schedulers.kernels.elastic_division import Divided

    workers = division.worker_before.astype(np.int64, order="C")
    servers = division.server_before.astype(np.int64, order="C")
    total = workers.sum(axis=1)
    return Divided(
        workers=workers,
        servers=servers,
        worker_free=division.workers.capacity - workers.T @ division.worker_demand,
        server_free=division.servers.capacity - servers.T @ division.server_demand,
        count=np.stack((total, servers.sum(axis=1)), axis=1),
        changed=np.zeros(len(total), dtype=np.bool_),
        figures=np.array((float(division.use @ total), float(loss(division, total).sum()), 0.0)),
    )
