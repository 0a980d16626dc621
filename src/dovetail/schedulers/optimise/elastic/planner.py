"""The best schedule of a job at the prices of the moment, within what the calendar has free.

A planner is made for one view.  It keeps its own copy of the calendar, so that several jobs can be planned in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import (
    SERVER,
    WORKER,
    ElasticInfo,
    ElasticView,
    Floats,
    Ints,
    Plan,
    utility,
)
from dovetail.schedulers.optimise.elastic.prices import Bounds

ROUNDING = 1e-7  # of a capacity: sums of demands in another order differ; the calendar allows for more


class Proposal(NamedTuple):
    """A schedule of one job, and what it is worth."""

    plan: Plan
    finish: int  # absolute slot of its last worker
    utility: float
    cost: float
    workers: int  # worker-slots

    @property
    def payoff(self) -> float:
        return self.utility - self.cost

    @property
    def price(self) -> float:
        """Mean price of a worker-slot with its share of the parameter servers."""
        return self.cost / self.workers


class Refusal(NamedTuple):
    """Why there is no schedule: none completes the work (nan), or even the one that comes closest costs too much."""

    utility: float = float("nan")
    cost: float = float("nan")

    @property
    def completes(self) -> bool:
        """Would some schedule complete the work, at whatever price?"""
        return not math.isnan(self.utility)


@dataclass(frozen=True, eq=False)
class Need:
    """What is to be planned: a job's work, demands and worth."""

    work: int
    max_workers: int
    worker_demand: Floats  # (R,)
    server_demand: Floats  # (R,)
    utility: Floats  # (S,) of completing in each slot from the present one on, not increasing

    @classmethod
    def of(cls, view: ElasticView, job: int, slots: int) -> Need:
        delay = np.arange(view.slot, slots) - view.job_arrival[job]
        return cls(
            work=int(view.job_work_left[job]),
            max_workers=int(view.job_max_workers[job]),
            worker_demand=view.job_worker_demand[job],
            server_demand=view.job_server_demand[job],
            utility=utility(view.job_utility[job], delay.astype(np.float64)),
        )

    @property
    def density(self) -> float:
        """What it is worth now per unit of resource and slot of its workers."""
        return float(self.utility[0] / (self.work * self.worker_demand.sum()))


class Planner:
    """Prices and free capacity from the present slot on.

    `profile` multiplies the prices of each slot from the present one on.
    """

    def __init__(
        self, view: ElasticView, info: ElasticInfo, bounds: tuple[Bounds, Bounds], profile: Floats | None = None
    ) -> None:
        left = len(view.worker_free)
        self.slot = view.slot
        self._bounds = bounds
        self._capacity = (info.worker_capacity, info.server_capacity)
        self._profile = np.ones(left) if profile is None else profile[:left]
        self._cheapest = np.r_[0.0, np.cumsum(np.sort(self._profile))]  # slots' profiles, the lowest first
        self.free = (view.worker_free.copy(), view.server_free.copy())
        self.price = tuple(
            one.prices(free, capacity) * self._profile[:, None, None]
            for one, free, capacity in zip(bounds, self.free, self._capacity, strict=True)
        )

    def copy(self) -> Planner:
        """One that can be booked without this one noticing."""
        other = Planner.__new__(Planner)
        other.__dict__.update(self.__dict__)
        other.free = (self.free[WORKER].copy(), self.free[SERVER].copy())
        other.price = (self.price[WORKER].copy(), self.price[SERVER].copy())
        return other

    def propose(self, need: Need, *, tolerance: float, by: int | None = None, after: int = 0) -> Proposal | Refusal:
        """The schedule with the largest payoff, if that is above 0.

        `by`: complete it by the end of this slot, absolute.  `after`: nothing in so many slots from the present one on.
        """
        from dovetail.schedulers.kernels.elastic_costs import slot_costs  # numba is loaded when it is needed
        from dovetail.schedulers.kernels.elastic_plan import best_schedule

        soonest = after - (-need.work // need.max_workers) - 1
        if soonest >= len(need.utility):
            return Refusal()
        slots, least = self._worthwhile(need)
        if slots <= soonest:
            return Refusal(float(need.utility[soonest]), least)
        if by is not None:
            slots = min(slots, by - self.slot + 1)
        most = min(need.max_workers, need.work)
        costs, room, taken = np.empty((slots, most + 1)), np.zeros(slots, np.int64), np.zeros(slots, np.int64)
        slot_costs(*self.price, *self.free, need.worker_demand, need.server_demand, most, 0, slots, costs, room)
        room[:after] = 0
        found, cost = best_schedule(costs, room, need.work, need.utility[:slots], tolerance, taken)
        if found < 0:
            closest = -1 - int(found)
            return Refusal(float(need.utility[closest]), float(cost)) if closest < slots else Refusal()
        last = int(np.flatnonzero(taken)[-1])  # a schedule within the tolerance may end before the slot it was made for
        return Proposal(self._place(need, taken), self.slot + last, float(need.utility[last]), float(cost), need.work)

    def at_once(self, need: Need) -> Plan | None:
        """As many workers as fit into the present slot, whatever they cost; None if there is no room for one."""
        from dovetail.schedulers.kernels.elastic_costs import slot_costs

        most = min(need.max_workers, need.work)
        costs, room = np.empty((1, most + 1)), np.zeros(1, np.int64)
        slot_costs(*self.price, *self.free, need.worker_demand, need.server_demand, most, 0, 1, costs, room)
        return self._place(need, room) if room[0] else None

    def take(self, need: Need, plan: Plan, sign: int = 1) -> None:
        """Book a plan in this planner's copy of the calendar (or, with -1, give it back), and set prices anew."""
        from dovetail.schedulers.kernels.elastic_costs import book

        for role, demand in ((WORKER, need.worker_demand), (SERVER, need.server_demand)):
            bounds = self._bounds[role]
            facts = (demand, self._capacity[role], bounds.low, bounds.log_range, self._profile)
            book(*plan, role, sign, self.slot, *facts, self.free[role], self.price[role])

    def take_again(self, need: Need, plan: Plan) -> bool:
        """Book a plan that was made earlier, unless there is no room for it any more."""
        self.take(need, plan)
        for role, capacity in enumerate(self._capacity):
            rows = plan.role == role
            host = plan.host[rows]
            if (self.free[role][plan.slot[rows] - self.slot, host] < -ROUNDING * (1.0 + capacity[host])).any():
                self.take(need, plan, -1)
                return False
        return True

    def cost(self, need: Need, plan: Plan) -> float:
        """Of a plan that is not booked, at the prices of the moment."""
        total = 0.0
        for role, demand in ((WORKER, need.worker_demand), (SERVER, need.server_demand)):
            rows = plan.role == role
            unit = self.price[role][plan.slot[rows] - self.slot, plan.host[rows]] @ demand
            total += float(plan.amount[rows] @ unit)
        return total

    def _worthwhile(self, need: Need) -> tuple[int, float]:
        """Slots in which completing may pay, and what the work costs even at the lowest prices."""
        whole, rest = divmod(need.work, need.max_workers)
        slots = need.max_workers * self._cheapest[whole]
        if rest:
            slots += rest * (self._cheapest[whole + 1] - self._cheapest[whole])
        least = slots * self._bounds[WORKER].low * float(need.worker_demand.sum())
        return int(np.searchsorted(-need.utility, -least, side="left")), least

    def _place(self, need: Need, taken: Ints) -> Plan:
        """Where everybody stands."""
        from dovetail.schedulers.kernels.elastic_costs import place

        most = 2 * int(taken.sum())  # there are no more servers than workers, and no row without one
        rows = np.empty((4, most), dtype=np.int64)
        used = place(*self.price, *self.free, need.worker_demand, need.server_demand, taken, self.slot, rows)
        assert used >= 0, "the plan was made for this much room"
        return Plan(*np.ascontiguousarray(rows[:, :used]))
