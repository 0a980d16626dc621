"""Marginal prices of resources, which grow exponentially with what is taken (Bao et al., INFOCOM 2018).

    p_h^r(t) = L (U^r / L) ^ (g_h^r(t) / c_h^r)        g: what is taken of capacity c

with, for workers (and likewise for parameter servers, with their demands s instead of w),

    U^r = max_i f_i(fastest finish) / w_i^r
    L   = min_i f_i(last slot) / (4 eta W_i sum_r w_i^r),    1 / eta = min_i W_i sum_r w_i^r / (T sum c)

W_i being worker-slots.  U and L are estimated from jobs of the past.

Departures.  L decides everything.  Most sigmoids fall to nothing before the last slot, so the published minimum is
nothing: the first comers get all they want for nothing, and nothing is left for jobs that are worth more.  Therefore L
has a floor, the price that would clear the market: of the jobs that a horizon brings, those worth at least L per unit
of resource and slot (f_i(fastest) over W_i sum_r w_i^r) need a share `fill` of the scarcest resource.  Where all
jobs fit, there is no floor; `fill` = infinity is the published rule.  Nor is there one where fewer than `few` jobs make
up that share: a handful of large jobs is no market, and what the next of them would pay prices out those that fit.  A
fastest finish counts from 0, as completion times do, so that U is never too low.  The floor is an estimate of what the
market bears, and gives up the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.core.elastic import BANDWIDTH, ElasticInfo, ElasticJobs, Floats, utility
from dovetail.core.errors import ConfigError

TINY = 1e-12  # a price that is nothing, of which logarithms can be taken
ERROR_HELP = {"help": "stretches the estimates: U times, L divided by this"}  # of the parameter `error`


def check_error(error: float) -> None:
    if not 1e-6 <= error <= 1e6:
        raise ConfigError(f"error is {error}; expected a factor from 1e-6 to 1e6 (1 = none)")


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and highest prices of one role's resources."""

    low: float
    high: Floats  # (R,)

    def prices(self, free: Floats, capacity: Floats) -> Floats:
        """Prices where so much is free.  free: (..., H, R), capacity: (H, R)."""
        has = capacity > 0
        taken = 1.0 - np.divide(free, capacity, out=np.ones_like(free), where=has)
        values: Floats = self.low * np.exp(self.log_range * taken)
        return values * has

    @cached_property
    def log_range(self) -> Floats:
        """(R,) ln(U / L)."""
        return np.log(self.high / self.low)

    @property
    def alpha(self) -> float:
        """max(1, ln(U / L)): half of the competitive ratio."""
        return max(1.0, float(self.log_range.max()))


def estimate(info: ElasticInfo, *, fill: float, error: float, few: float = 0.0) -> tuple[Bounds, Bounds]:
    """Bounds of the prices of workers and of parameter servers, from the jobs of the past.

    `error` stretches the range on purpose: U is multiplied by it and L divided.  `few`: with fewer jobs to the horizon
    that fit, there is no floor.
    """
    jobs = info.history
    coming = info.expected_jobs / len(jobs)  # for each one of the past
    per_worker = jobs.worker_demand[:, BANDWIDTH] / jobs.server_demand[:, BANDWIDTH]  # parameter servers
    found = []
    for demand, capacity, units in (
        (jobs.worker_demand, info.worker_capacity, jobs.work),
        (jobs.server_demand, info.server_capacity, jobs.work * per_worker),
    ):
        load = units[:, None] * demand * coming
        floor = clearing(density(jobs, demand), load, info.slots * capacity.sum(axis=0), fill, few / coming)
        low = max(published_low(jobs, demand, capacity, info.slots), floor) / error
        high = np.maximum(highest(jobs, demand) * error, max(low, TINY))
        found.append(Bounds(max(low, TINY), high))
    return found[0], found[1]


def clearing(worth: Floats, load: Floats, capacity: Floats, fill: float, few: float = 0.0) -> float:
    """The lowest price at which those who can pay it need no more than a share `fill` of any resource; 0 if all do, or
    if fewer than `few` of them fit.

    It is never above half of what those who fit would pay on average, the best of them always counting as one who does:
    where jobs are alike, or few and large, the price of the marginal one would leave nobody anything to gain.
    worth: (J,) what each would pay, load: (J, R) what each needs, capacity: (R,).
    """
    order = np.argsort(-worth, kind="stable")
    has = capacity > 0
    needs = load[order][:, has] / capacity[has]
    beyond = np.flatnonzero(np.cumsum(needs, axis=0).max(axis=1) > fill)
    if not beyond.size or beyond[0] < few:
        return 0.0
    fit = slice(max(int(beyond[0]), 1))
    mean = float(np.average(worth[order[fit]], weights=np.maximum(needs[fit].max(axis=1), TINY)))
    return min(float(worth[order[beyond[0]]]), mean / 2)


def fastest(jobs: ElasticJobs) -> Floats:
    """(J,) what each job is worth if it is completed as fast as possible."""
    slots: Floats = np.ceil(jobs.work / jobs.max_workers) - 1
    return utility(jobs.utility, slots)


def density(jobs: ElasticJobs, demand: Floats) -> Floats:
    """(J,) the same per unit of resource and slot."""
    worth: Floats = fastest(jobs) / (jobs.work * demand.sum(axis=1))
    return worth


def highest(jobs: ElasticJobs, demand: Floats) -> Floats:
    """(R,) U^r; next to nothing for a resource that nobody needs."""
    each = np.divide(fastest(jobs)[:, None], demand, out=np.zeros_like(demand), where=demand > 0)
    best: Floats = np.maximum(each.max(axis=0), TINY)
    return best


def published_low(jobs: ElasticJobs, demand: Floats, capacity: Floats, slots: int) -> float:
    """L, the minimum over jobs."""
    needs = jobs.work * demand.sum(axis=1)
    one_over_eta = float(needs.min()) / (slots * float(capacity.sum()))
    last = np.maximum(slots - 1 - jobs.arrival, 0).astype(np.float64)
    return float((utility(jobs.utility, last) / (4.0 * needs)).min()) * one_over_eta
