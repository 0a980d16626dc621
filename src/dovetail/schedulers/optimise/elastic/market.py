"""Where prices start and end: U and L, estimated from jobs of the past and corrected by those that come.

For workers (and likewise for parameter servers, with their demands s instead of w; Bao et al., INFOCOM 2018),

    U^r = max_i f_i(fastest finish) / w_i^r
    L   = min_i f_i(last slot) / (4 eta W_i sum_r w_i^r),    1 / eta = min_i W_i sum_r w_i^r / (T sum c)

W_i being worker-slots.  The paper estimates both from jobs of the past, once.

Departures.  L decides everything.  Most sigmoids fall to nothing before the last slot, so the published minimum is
nothing: the first comers get all they want for nothing, and nothing is left for jobs that are worth more.  Therefore L
has a floor, the price that would clear the market: of the jobs that a horizon brings, those worth at least L per unit
of resource and slot (f_i(fastest) over W_i sum_r w_i^r) need a share `fill` of the scarcest resource.  Where all
jobs fit, there is no floor; `fill` = infinity is the published rule.  Nor is there one where fewer than `few` jobs make
up that share: a handful of large jobs is no market, and what the next of them would pay prices out those that fit.  A
fastest finish counts from 0, as completion times do, so that U is never too low.

And jobs that come during the run become part of the past (`trust`): the past counts as so many jobs, each one seen as
one, in the distribution that the floor is found in, and in the mean of the logarithms of U and of the published L.  So
estimates that were wrong by a factor wash out after some tens of jobs; what is booked has the price that the new U and
L give it.  `trust` = infinity is the published rule.  How many jobs a horizon brings is not corrected: where arrivals
come in bursts that costs more than it gains, as long as the number is right.

Both give up the guarantee: the floor is an estimate of what the market bears, and where U and L change, a price may
fall below what somebody has paid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dovetail.core.elastic import BANDWIDTH, SERVER, WORKER, ElasticInfo, ElasticJobs, ElasticView, Floats, utility
from dovetail.core.errors import ConfigError
from dovetail.schedulers.optimise.elastic.prices import TINY, Bounds

ERROR_HELP = {"help": "stretches the estimates: U times, L divided by this"}  # of the parameter `error`
TRUST_HELP = {"help": "the past counts as so many jobs seen in U and L (inf: they stay, as published)"}


def check_error(error: float) -> None:
    if not 1e-6 <= error <= 1e6:
        raise ConfigError(f"error is {error}; expected a factor from 1e-6 to 1e6 (1 = none)")


@dataclass(frozen=True, eq=False)
class Facts:
    """What the estimates for one role need to know of some jobs."""

    worth: Floats  # (J,) of each, completed as fast as possible, per unit of resource and slot
    load: Floats  # (J, R) what each needs, over all its slots
    best: Floats  # (R,) U
    least: float  # what the smallest needs, of all resources and over all its slots
    last: float  # a quarter of the lowest worth in the last slot, per unit of resource and slot

    @classmethod
    def of(cls, jobs: ElasticJobs, role: int, slots: int) -> Facts:
        demand, units = needs(jobs, role)
        size = jobs.work * demand.sum(axis=1)
        delay = np.maximum(slots - 1 - jobs.arrival, 0).astype(np.float64)
        return cls(
            worth=fastest(jobs) / size,
            load=units[:, None] * demand,
            best=highest(jobs, demand),
            least=float(size.min()),
            last=float((utility(jobs.utility, delay) / (4.0 * size)).min()),
        )

    def beside(self, other: Facts) -> Facts:
        """Of both, in this order."""
        return Facts(
            worth=np.concatenate((self.worth, other.worth)),
            load=np.concatenate((self.load, other.load)),
            best=np.maximum(self.best, other.best),
            least=min(self.least, other.least),
            last=min(self.last, other.last),
        )

    def published_low(self, capacity: Floats, slots: int) -> float:
        """L, the minimum over jobs."""
        return self.last * (self.least / (slots * float(capacity.sum())))


class Market:
    """The bounds of prices, as the jobs that come correct them."""

    def __init__(self, info: ElasticInfo, *, fill: float, error: float, trust: float, few: float = 0.0) -> None:
        self._info, self._fill, self._error, self._trust, self._few = info, fill, error, trust, few
        self._past = facts_of(info.history, info.slots)
        self._seen: tuple[Facts, Facts] | None = None
        self._last = -1  # job_id of the last one seen: they come in this order
        self.bounds = self._estimate()

    def see(self, view: ElasticView) -> None:
        """Count the jobs that came since the last view."""
        new = view.job_id > self._last
        if self._trust == math.inf or not new.any():
            return
        self._last = int(view.job_id[new].max())
        came = ElasticJobs(
            arrival=view.job_arrival[new],
            work=view.job_work[new],
            max_workers=view.job_max_workers[new],
            worker_demand=view.job_worker_demand[new],
            server_demand=view.job_server_demand[new],
            utility=view.job_utility[new],
        )
        facts = facts_of(came, self._info.slots)
        before = self._seen
        self._seen = facts if before is None else (before[0].beside(facts[0]), before[1].beside(facts[1]))
        self.bounds = self._estimate()

    def _estimate(self) -> tuple[Bounds, Bounds]:
        words = {"fill": self._fill, "error": self._error, "few": self._few, "trust": self._trust}
        return bounds_from(self._info, self._past, self._seen, **words)


def estimate(
    info: ElasticInfo,
    *,
    fill: float,
    error: float,
    few: float = 0.0,
    seen: ElasticJobs | None = None,
    trust: float = math.inf,
) -> tuple[Bounds, Bounds]:
    """Bounds of the prices of workers and of parameter servers, from the jobs of the past and those seen since.

    `error` stretches what the past says on purpose: U is multiplied by it and L divided.  `few`: with fewer jobs to the
    horizon that fit, there is no floor.  The past counts as `trust` jobs, each one seen as one.
    """
    since = facts_of(seen, info.slots) if seen is not None and len(seen) else None
    return bounds_from(info, facts_of(info.history, info.slots), since, fill=fill, error=error, few=few, trust=trust)


def facts_of(jobs: ElasticJobs, slots: int) -> tuple[Facts, Facts]:
    """For workers and for parameter servers."""
    return Facts.of(jobs, WORKER, slots), Facts.of(jobs, SERVER, slots)


def bounds_from(
    info: ElasticInfo,
    past: tuple[Facts, Facts],
    seen: tuple[Facts, Facts] | None,
    *,
    fill: float,
    error: float,
    few: float,
    trust: float,
) -> tuple[Bounds, Bounds]:
    """The same from what is known of the jobs, so that nothing is computed twice as jobs come."""
    if trust == math.inf:
        seen = None
    found = []
    for role, capacity in enumerate((info.worker_capacity, info.server_capacity)):
        before, jobs = past[role], past[role]
        number = np.full(len(before.worth), info.expected_jobs / len(before.worth))  # like each in a horizon
        believed = np.full(len(before.worth), 1.0 / error)  # what its worth is multiplied by
        low, high = before.published_low(capacity, info.slots) / error, before.best * error
        if seen is not None:
            since = seen[role]
            came = len(since.worth)
            weight = trust / (trust + came)  # of the past
            jobs = before.beside(since)
            number = np.r_[number * weight, np.full(came, info.expected_jobs * (1.0 - weight) / came)]
            believed = np.r_[believed, np.ones(came)]
            low = low**weight * since.published_low(capacity, info.slots) ** (1.0 - weight)
            # A resource that nobody seen needs tells nothing; and U is never below what somebody would pay.
            best = since.best
            high = np.maximum(np.where(best > TINY, high**weight * best ** (1.0 - weight), high), best)
        room = info.slots * capacity.sum(axis=0)
        low = max(low, clearing(jobs.worth * believed, number, jobs.load, room, fill, few), TINY)
        found.append(Bounds(low, np.maximum(high, low)))
    return found[0], found[1]


def needs(jobs: ElasticJobs, role: int) -> tuple[Floats, Floats]:
    """(J, R) demand of one worker or parameter server, and (J,) how many slots of such each job takes."""
    if role == WORKER:
        return jobs.worker_demand, jobs.work.astype(np.float64)
    per_worker = jobs.worker_demand[:, BANDWIDTH] / jobs.server_demand[:, BANDWIDTH]
    return jobs.server_demand, jobs.work * per_worker


def clearing(worth: Floats, number: Floats, load: Floats, capacity: Floats, fill: float, few: float = 0.0) -> float:
    """The lowest price at which those who can pay it need no more than a share `fill` of any resource; 0 if all do, or
    if fewer than `few` of them fit.

    It is never above half of what those who fit would pay on average, the best of them always counting as one who does:
    where jobs are alike, or few and large, the price of the marginal one would leave nobody anything to gain.
    worth: (J,) what each would pay, number: (J,) how many like it there are, load: (J, R) what one of them needs,
    capacity: (R,).
    """
    order = np.argsort(-worth, kind="stable")
    has = capacity > 0
    share = (number[:, None] * load)[order][:, has] / capacity[has]
    beyond = np.flatnonzero(np.cumsum(share, axis=0).max(axis=1) > fill)
    if not beyond.size or number[order[: beyond[0]]].sum() < few - 1e-9:
        return 0.0
    fit = slice(max(int(beyond[0]), 1))
    mean = float(np.average(worth[order[fit]], weights=np.maximum(share[fit].max(axis=1), TINY)))
    return min(float(worth[order[beyond[0]]]), mean / 2)


def fastest(jobs: ElasticJobs) -> Floats:
    """(J,) what each job is worth if it is completed as fast as possible."""
    slots: Floats = np.ceil(jobs.work / jobs.max_workers) - 1
    return utility(jobs.utility, slots)


def highest(jobs: ElasticJobs, demand: Floats) -> Floats:
    """(R,) U^r; next to nothing for a resource that nobody needs."""
    each = np.divide(fastest(jobs)[:, None], demand, out=np.zeros_like(demand), where=demand > 0)
    best: Floats = np.maximum(each.max(axis=0), TINY)
    return best
