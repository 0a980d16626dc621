"""Steps from one division of elastic/dorm to another, compiled.

Arrays are of J jobs, K kinds of worker hosts, L of server hosts and R resources.  A worker comes with the parameter
server it may need, and takes it along, so every step keeps to bandwidth, capacity, the bounds of each job, and the
number of running jobs that may have other numbers than before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import BANDWIDTH, Bools, Floats, Ints
from dovetail.schedulers.kernels.elastic_costs import servers_for
from dovetail.schedulers.kernels.jit import bare

ROOM = 1e-9  # against rounding: a worker that fits exactly, fits
BETTER = 1e-9  # who gains less, gains nothing
USE, LOSS, CHANGED = 0, 1, 2  # of the figures of a division


class Rules(NamedTuple):
    """What a division must keep to, and what it is worth."""

    worker_demand: Floats  # (J, R)
    server_demand: Floats  # (J, R)
    worker_most: Ints  # (J, K)
    server_most: Ints  # (J, L)
    least: Ints  # (J,) if any
    most: Ints  # (J,)
    use: Floats  # (J,) of a worker
    share: Floats  # (J,) of a worker
    fair: Ints  # (J,)
    running: Bools  # (J,)
    worker_before: Ints  # (J, K)
    server_before: Ints  # (J, L)
    fairness: float
    penalty: float  # of a unit of loss beyond it
    changes: int


class Divided(NamedTuple):
    """A division, and what it leaves free."""

    workers: Ints  # (J, K)
    servers: Ints  # (J, L)
    worker_free: Floats  # (K, R)
    server_free: Floats  # (L, R)
    count: Ints  # (J, 2) workers and servers of a job
    changed: Bools  # (J,) is running, and has not what it had
    figures: Floats  # (3,) use, loss of fairness, number of the changed


@bare
def objective(rules, now):
    return now.figures[USE] - rules.penalty * max(0.0, now.figures[LOSS] - rules.fairness)


@bare
def loss_with(rules, now, j, more):
    """Of fairness, if a job had so many more workers."""
    have, fair = now.count[j, 0], rules.fair[j]
    return now.figures[LOSS] + rules.share[j] * (abs(have + more - fair) - abs(have - fair))


@bare
def gain(rules, now, j, more):
    """What the objective would grow by if a job had so many more workers."""
    excess = max(0.0, loss_with(rules, now, j, more) - rules.fairness)
    return rules.use[j] * more - rules.penalty * (excess - max(0.0, now.figures[LOSS] - rules.fairness))


@bare
def room_for(free, k, demand, j, most):
    """How many containers of a job fit on a kind, at most `most`."""
    for r in range(demand.shape[1]):
        if most <= 0:
            return 0
        if demand[j, r] > 0.0:
            most = min(most, int(np.floor(free[k, r] / demand[j, r] + ROOM)))
    return max(most, 0)


@bare
def servers_short(rules, now, j, more):
    """Parameter servers that a job lacks with so many more workers; negative: it has too many."""
    b, server_b = rules.worker_demand[j, BANDWIDTH], rules.server_demand[j, BANDWIDTH]
    return servers_for(now.count[j, 0] + more, b, server_b) - now.count[j, 1]


@bare
def server_room(rules, now, j):
    room = 0
    for k in range(now.servers.shape[1]):
        most = rules.server_most[j, k] - now.servers[j, k]
        room += room_for(now.server_free, k, rules.server_demand, j, most)
    return room


@bare
def may_change(rules, now, j):
    return not rules.running[j] or now.changed[j] or now.figures[CHANGED] < rules.changes


@bare
def fitting(rules, now, j, k):
    """How many more workers of a job fit on a kind, with parameter servers; 0 if its least is not reached so."""
    most = min(rules.most[j] - now.count[j, 0], rules.worker_most[j, k] - now.workers[j, k])
    room = room_for(now.worker_free, k, rules.worker_demand, j, most)
    if room > 0 and servers_short(rules, now, j, room) > 0:
        servers = server_room(rules, now, j)
        while room > 0 and servers_short(rules, now, j, room) > servers:
            room -= 1
    return room if now.count[j, 0] + room >= rules.least[j] else 0


@bare
def removable(rules, now, j, k, fewer):
    """Whether so many workers of a job on a kind may go: its least is left, or it is not running and nothing is."""
    if fewer <= 0 or fewer > now.workers[j, k] or not may_change(rules, now, j):
        return False
    left = now.count[j, 0] - fewer
    return left >= rules.least[j] or (left == 0 and not rules.running[j])


@bare
def put(counts, free, demand, j, k, more):
    counts[j, k] += more
    for r in range(demand.shape[1]):
        free[k, r] -= more * demand[j, r]


@bare
def count_workers(rules, now, j, more):
    now.figures[LOSS] = loss_with(rules, now, j, more)
    now.figures[USE] += rules.use[j] * more
    now.count[j, 0] += more


@bare
def note_change(rules, now, j):
    changed = False
    if rules.running[j]:
        for k in range(now.workers.shape[1]):
            changed |= now.workers[j, k] != rules.worker_before[j, k]
        for k in range(now.servers.shape[1]):
            changed |= now.servers[j, k] != rules.server_before[j, k]
    now.figures[CHANGED] += int(changed) - int(now.changed[j])
    now.changed[j] = changed


@bare
def resize(rules, now, j, k, more):
    """So many more workers of a job on a kind, or fewer, and its parameter servers; that this may be, was asked."""
    short = servers_short(rules, now, j, more)
    count_workers(rules, now, j, more)
    put(now.workers, now.worker_free, rules.worker_demand, j, k, more)
    now.count[j, 1] += short
    for s in range(now.servers.shape[1]):
        if short > 0:
            most = min(short, rules.server_most[j, s] - now.servers[j, s])
            count = room_for(now.server_free, s, rules.server_demand, j, most)
        else:
            count = max(short, -now.servers[j, s])
        put(now.servers, now.server_free, rules.server_demand, j, s, count)
        short -= count
    note_change(rules, now, j)


@bare
def fits_again(free, demand, j, before, counts):
    """Whether what a job had before would fit in place of what it has."""
    for k in range(counts.shape[1]):
        more = before[j, k] - counts[j, k]
        if more > 0 and room_for(free, k, demand, j, more) < more:
            return False
    return True


@bare
def undo_change(rules, now, j):
    """A running job has again what it had; False if it has, or that does not fit."""
    if not (
        now.changed[j]
        and fits_again(now.worker_free, rules.worker_demand, j, rules.worker_before, now.workers)
        and fits_again(now.server_free, rules.server_demand, j, rules.server_before, now.servers)
    ):
        return False
    for k in range(now.workers.shape[1]):
        more = rules.worker_before[j, k] - now.workers[j, k]
        count_workers(rules, now, j, more)
        put(now.workers, now.worker_free, rules.worker_demand, j, k, more)
    for k in range(now.servers.shape[1]):
        more = rules.server_before[j, k] - now.servers[j, k]
        now.count[j, 1] += more
        put(now.servers, now.server_free, rules.server_demand, j, k, more)
    note_change(rules, now, j)
    return True
