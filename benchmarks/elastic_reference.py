"""OASiS as published, written plainly in numpy: what the compiled scheduler is measured against, and held to.

For every job, prices of all hosts in all slots; for every slot, the cost of 0, 1, 2, ... workers on the cheapest hosts
with their parameter servers; then the dynamic program over (slot, work done),

    cost(t, E) = min over d of cost_slot(t, d) + cost(t - 1, E - d),

which takes slots x work x workers steps.  Prices, their bounds and the order of jobs are those of `elastic/oasis`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.elastic import (
    BANDWIDTH,
    SERVER,
    WORKER,
    ElasticDecision,
    ElasticInfo,
    ElasticView,
    Floats,
    Ints,
    Plan,
    Reason,
    servers_needed,
    utility,
)
from dovetail.schedulers.optimise.elastic.market import Market
from dovetail.schedulers.optimise.elastic.oasis import FEW, OasisParams
from dovetail.schedulers.optimise.elastic.prices import Bounds


class PlainOasis:
    def __init__(self, params: OasisParams = OasisParams()) -> None:
        self.params = params

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self.info = info
        params = self.params
        self.market = Market(info, fill=params.fill, error=params.error, trust=params.trust, few=FEW)

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        self.market.see(view)
        free = (view.worker_free.copy(), view.server_free.copy())
        new = np.flatnonzero(~view.job_admitted)
        now = utility(view.job_utility, (view.slot - view.job_arrival).astype(np.float64))
        density = now / (view.job_work_left * view.job_worker_demand.sum(axis=1))
        order = new[np.argsort(-density[new], kind="stable")]
        return [self._one(view, int(job), free) for job in order]

    def _one(self, view: ElasticView, job: int, free: tuple[Floats, Floats]) -> ElasticDecision:
        slots, work = len(view.worker_free), int(view.job_work_left[job])
        most = min(int(view.job_max_workers[job]), work)
        if work > most * slots:
            return ElasticDecision(job, rejected=True, reason=Reason.CANNOT_FINISH)
        demand = (view.job_worker_demand[job], view.job_server_demand[job])
        unit = tuple(self._unit(self.market.bounds[role], free[role], role, demand[role]) for role in (WORKER, SERVER))
        fit = tuple(_fit(free[role], demand[role], most) for role in (WORKER, SERVER))
        per_slot = [_slot_cost(unit, fit, slot, most, demand) for slot in range(slots)]
        cost, choice = _program(per_slot, work)
        delay = np.arange(view.slot, view.slot + slots) - view.job_arrival[job]
        worth = utility(view.job_utility[job], delay.astype(np.float64))
        payoff = worth - cost
        last = int(payoff.argmax())
        if not np.isfinite(cost).any():
            return ElasticDecision(job, rejected=True, reason=Reason.CANNOT_FINISH)
        if payoff[last] <= 0:
            return ElasticDecision(job, rejected=True, reason=Reason.NO_POSITIVE_PAYOFF)
        plan = _placed(choice, last, work, view.slot, unit, fit, demand, free)
        return ElasticDecision(
            job, plan, promise=view.slot + last, reason=Reason.POSITIVE_PAYOFF, utility=worth[last], cost=cost[last]
        )

    def _unit(self, bounds: Bounds, free: Floats, role: int, demand: Floats) -> Floats:
        """(S, H) price of one worker, or server, on each host."""
        capacity = (self.info.worker_capacity, self.info.server_capacity)[role]
        found: Floats = bounds.prices(free, capacity) @ demand
        return found


def _fit(free: Floats, demand: Floats, most: int) -> Ints:
    """(S, H) how many there is room for."""
    needed = demand > 0
    room = np.floor((free[..., needed] / demand[needed] + 1e-9).min(axis=-1))
    return np.clip(room, 0, most).astype(np.int64)


def _slot_cost(
    unit: tuple[Floats, ...], fit: tuple[Ints, ...], slot: int, most: int, demand: tuple[Floats, ...]
) -> Floats:
    """(d + 1,) cost of 0 .. d workers with their servers, for as many as there is room for."""
    ladders = []
    for role in (WORKER, SERVER):
        order = np.argsort(unit[role][slot], kind="stable")
        each = np.repeat(unit[role][slot][order], fit[role][slot][order])[:most]
        ladders.append(np.r_[0.0, np.cumsum(each)])
    workers = np.arange(len(ladders[WORKER]))
    servers = np.ceil(workers * demand[WORKER][BANDWIDTH] / demand[SERVER][BANDWIDTH] - 1e-9).astype(np.int64)
    workers = workers[servers < len(ladders[SERVER])]
    found: Floats = ladders[WORKER][workers] + ladders[SERVER][servers[workers]]
    return found


def _program(per_slot: list[Floats], work: int) -> tuple[Floats, list[Ints]]:
    """(S,) least cost of doing the work by the end of each slot, and the workers to take in each slot and state."""
    best = np.full(work + 1, np.inf)
    best[0] = 0.0
    cost, choice = np.full(len(per_slot), np.inf), []
    for slot, costs in enumerate(per_slot):
        after, chosen = best.copy(), np.zeros(work + 1, dtype=np.int32)
        for d in range(1, min(len(costs) - 1, work) + 1):
            total = best[: work + 1 - d] + costs[d]
            better = total < after[d:]
            after[d:][better] = total[better]
            chosen[d:][better] = d
        best = after
        choice.append(chosen)
        cost[slot] = best[work]
    return cost, choice


def _placed(
    choice: list[Ints],
    last: int,
    work: int,
    first_slot: int,
    unit: tuple[Floats, ...],
    fit: tuple[Ints, ...],
    demand: tuple[Floats, ...],
    free: tuple[Floats, Floats],
) -> Plan:
    """The plan of the best schedule, cheapest hosts first; it is taken from what is free."""
    rows = []
    for slot in range(last, -1, -1):
        taken = int(choice[slot][work])
        work -= taken
        counts = (taken, servers_needed(taken, float(demand[WORKER][BANDWIDTH]), float(demand[SERVER][BANDWIDTH])))
        for role, left in enumerate(counts):
            for host in np.argsort(unit[role][slot], kind="stable").tolist():
                here = min(int(fit[role][slot, host]), left)
                if here:
                    rows.append((first_slot + slot, role, host, here))
                    free[role][slot, host] -= here * demand[role]
                    left -= here
    return Plan(*np.array(rows, dtype=np.int64).T.copy())
