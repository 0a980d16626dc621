"""OASiS that changes its mind: what was admitted may be moved or enlarged, as long as every promise is kept.  Ours.

Four things differ from `oasis`, each for a reason seen in runs:

- Prices are lower for slots that are about to pass (`patience`): whoever has not booked the present slot by now hardly
  will, and what is not used is lost.  So a job that found no schedule at first waits and is asked again, until nothing
  it could still get is worth anything.
- Whenever jobs wait, all jobs are planned anew in several orders; if the utilities of some order add up to more than
  those of the plans in force, and everybody who was promised something still gets it, its plans replace them.
- What the present slot has left after that goes to those who still wait, for nothing and without a promise: it would be
  lost, and a job with less work left may find a schedule later.
- A job is promised the last slot in which it would still be worth 1 - `slack` of what its plan gives it, so that there
  is room for moving.

Where progress is measured, workers may be slower than planned; then the world lifts a promise that cannot be kept any
more, and the job is late.  It keeps what is booked for it until a plan that completes it is found, and is never
rejected; such a plan does not take the present slot from it, unless it ends no later than the bookings would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import WORKER, ElasticDecision, ElasticInfo, ElasticView, Floats, Plan, Reason
from dovetail.core.errors import ConfigError
from dovetail.schedulers.optimise.elastic.market import ERROR_HELP, TRUST_HELP, Market, check_error
from dovetail.schedulers.optimise.elastic.planner import Need, Planner, Proposal

NOTHING_WORTH = 1e-3  # of its worth: a job that can get no more than this need not wait
GAIN = 1e-3  # of the utilities in force: less is not worth a change of plans
ANY_PRICE = 1e9  # a promise is kept whatever it costs


@dataclass(frozen=True)
class OasisReplanParams:
    fill: float = field(
        default=0.3, metadata={"help": "prices start where jobs that can pay fill this share of the cluster"}
    )
    trust: float = field(default=np.inf, metadata=TRUST_HELP)
    patience: float = field(default=3.0, metadata={"help": "slots until a slot's price is near its full height"})
    slack: float = field(default=0.2, metadata={"help": "share of its utility a job may lose by being moved"})
    error: float = field(default=1.0, metadata=ERROR_HELP)
    tolerance: float = field(default=1e-3, metadata={"help": "share of a job's utility its schedule may leave"})

    def __post_init__(self) -> None:
        ranges = {"fill": (0, np.inf), "trust": (0, np.inf), "patience": (0, 1e6), "slack": (0, 1), "tolerance": (0, 1)}
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")
        check_error(self.error)


@dataclass(frozen=True, eq=False)
class Standing:
    """Everybody in the system: what they need, and the plans in force."""

    view: ElasticView
    needs: list[Need]
    plans: dict[int, Plan]
    promised: list[int]
    late: list[int]  # have bookings but no promise any more; best worth per unit of resource first
    waiting: list[int]  # have neither; in the same order

    @classmethod
    def of(cls, view: ElasticView, slots: int) -> Standing:
        needs = [Need.of(view, job, slots) for job in range(len(view.job_id))]
        mine = [view.booked_job == job for job in range(len(needs))]
        plans = {job: Plan(*(column[own] for column in view.booked)) for job, own in enumerate(mine) if own.any()}
        promised = np.flatnonzero(view.job_promise >= 0).tolist()
        others = sorted(np.flatnonzero(view.job_promise < 0).tolist(), key=lambda job: -needs[job].density)
        late, waiting = ([job for job in others if (job in plans) == booked] for booked in (True, False))
        return cls(view, needs, plans, promised, late, waiting)

    def utility(self, job: int) -> float:
        """What the plan in force gives."""
        last = int(self.plans[job].slot.max()) - self.view.slot
        return float(self.needs[job].utility[last])

    def orders(self) -> Iterator[list[int]]:
        """In which order to plan everybody anew."""
        by_promise = sorted(self.promised, key=lambda job: int(self.view.job_promise[job]))
        yield sorted(range(len(self.needs)), key=lambda job: -self.needs[job].density)
        yield self.waiting + self.late + by_promise
        yield self.late + by_promise + self.waiting


class OasisReplan:
    Params = OasisReplanParams
    TUNE: ClassVar = {"fill": (0.1, 0.2, 0.3, 0.5, 1.0), "patience": (0.0, 1.0, 3.0, 8.0), "slack": (0.0, 0.2, 0.5)}

    def __init__(self, params: OasisReplanParams = OasisReplanParams()) -> None:
        self.params = params

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self._info = info
        params = self.params
        self._market = Market(info, fill=params.fill, error=params.error, trust=params.trust)
        self._profile = profile(info.slots, self.params.patience)

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        self._market.see(view)
        standing = Standing.of(view, self._info.slots)
        if not standing.late and not standing.waiting:
            return []
        planner = Planner(view, self._info, self._market.bounds, self.profile(view))
        booked = planner.copy()
        best = self._added(standing, booked)
        in_force = sum(standing.utility(job) for job in standing.promised)
        total = in_force + sum(one.utility for one in best.values())
        if standing.plans:
            for job, plan in standing.plans.items():
                planner.take(standing.needs[job], plan, -1)
            for order in standing.orders():
                trial = planner.copy()
                found = self._anew(standing, trial, order)
                gained = sum(one.utility for one in found.values()) - total if found is not None else 0.0
                if found is not None and gained > GAIN * total:
                    best, total, booked = found, total + gained, trial
        rejections = list(self._rejections(standing, best))
        gone = {*best, *(decision.job for decision in rejections)}
        late, hopeful = ([job for job in jobs if job not in gone] for jobs in (standing.late, standing.waiting))
        spare = (*self._more(standing, booked, late), *self._spare(standing, booked, hopeful))
        return [*self._admissions(standing, best), *rejections, *spare]

    def profile(self, view: ElasticView) -> Floats:
        """What multiplies the prices of each slot from the present one on."""
        return self._profile[: len(view.worker_free)]

    def _added(self, standing: Standing, planner: Planner) -> dict[int, Proposal]:
        """Plans for those who are late, then for those who wait, beside the plans in force."""
        found = {}
        for job in standing.late:
            need, plan = standing.needs[job], standing.plans[job]
            planner.take(need, plan, -1)
            better = self._better(standing, planner, job)
            planner.take(need, plan if better is None else better.plan)
            if better is not None:
                found[job] = better
        for job in standing.waiting:
            one = planner.propose(standing.needs[job], tolerance=self.params.tolerance)
            if isinstance(one, Proposal):
                planner.take(standing.needs[job], one.plan)
                found[job] = one
        return found

    def _anew(self, standing: Standing, planner: Planner, order: Sequence[int]) -> dict[int, Proposal] | None:
        """Plans for all in this order; None if a promise would be broken, or a late job lose what it has."""
        found = {}
        for job in order:
            need, promise = standing.needs[job], int(standing.view.job_promise[job])
            if job in standing.late:
                better = self._better(standing, planner, job)
                if better is not None:
                    planner.take(need, better.plan)
                    found[job] = better
                elif not planner.take_again(need, standing.plans[job]):
                    return None
                continue
            one = planner.propose(need, tolerance=self.params.tolerance, by=promise if promise >= 0 else None)
            if promise >= 0 and not isinstance(one, Proposal):
                dear = replace(need, utility=need.utility + ANY_PRICE)
                one = planner.propose(dear, tolerance=1e-12, by=promise)
                if not isinstance(one, Proposal):
                    return None
                one = one._replace(utility=one.utility - ANY_PRICE)
            if isinstance(one, Proposal):
                planner.take(need, one.plan)
                found[job] = one
        return found

    def _better(self, standing: Standing, planner: Planner, job: int) -> Proposal | None:
        """A plan that completes a late job and is no worse for it than its bookings, which the planner has free.

        It ends no later than the bookings do; or, if they do not complete the job, has as many workers now as they.
        """
        need, booked = standing.needs[job], standing.plans[job]
        found = planner.propose(need, tolerance=self.params.tolerance)
        if not isinstance(found, Proposal):
            return None
        if found.finish <= booked.slot.max():
            return found
        if workers(booked) >= need.work:
            return None
        now, _ = parted(booked, planner.slot)
        stand = workers(now)
        if workers(parted(found.plan, planner.slot)[0]) >= stand:
            return found
        # Later slots are cheaper.  It stays where it stands, and the rest of its work is planned from the next one on.
        cost = planner.cost(need, now)
        if not planner.take_again(need, now):
            return None
        rest = replace(need, work=need.work - stand)
        found = planner.propose(rest, tolerance=self.params.tolerance, after=1)
        planner.take(need, now, -1)
        if not isinstance(found, Proposal) or found.payoff <= cost:
            return None
        return found._replace(plan=joined(now, found.plan), cost=found.cost + cost, workers=need.work)

    def _admissions(self, standing: Standing, best: dict[int, Proposal]) -> Iterator[ElasticDecision]:
        for job, found in best.items():
            promise = int(standing.view.job_promise[job])
            is_new = promise < 0
            yield ElasticDecision(
                job=job,
                plan=found.plan,
                promise=self._promise(standing, job, found) if is_new else promise,
                reason=Reason.POSITIVE_PAYOFF if is_new else Reason.BETTER_PLAN,
                utility=found.utility,
                cost=found.cost,
                price=found.price,
            )

    def _more(self, standing: Standing, planner: Planner, late: Sequence[int]) -> Iterator[ElasticDecision]:
        """Those who are late and found no plan keep their bookings, and have more workers in this slot if they can."""
        for job in late:
            need = standing.needs[job]
            now, later = parted(standing.plans[job], planner.slot)
            planner.take(need, now, -1)
            most = planner.at_once(need)
            if most is None or workers(most) <= workers(now):
                planner.take(need, now)
            else:
                planner.take(need, most)
                yield ElasticDecision(job, joined(most, later), reason=Reason.SPARE_CAPACITY)

    def _spare(self, standing: Standing, planner: Planner, hopeful: Sequence[int]) -> Iterator[ElasticDecision]:
        """What the present slot has left is lost unless somebody takes it now: those who wait do, for nothing."""
        for job in hopeful:
            plan = planner.at_once(standing.needs[job])
            if plan is not None:
                planner.take(standing.needs[job], plan)
                yield ElasticDecision(job, plan, reason=Reason.SPARE_CAPACITY)

    def _promise(self, standing: Standing, job: int, found: Proposal) -> int:
        """The last slot in which the job is worth almost as much as planned."""
        enough = standing.needs[job].utility >= (1.0 - self.params.slack) * found.utility
        return max(standing.view.slot + int(np.flatnonzero(enough)[-1]), found.finish)

    def _rejections(self, standing: Standing, best: dict[int, Proposal]) -> Iterator[ElasticDecision]:
        """Those who wait for nothing."""
        for job in standing.waiting:
            if job in best:
                continue
            need = standing.needs[job]
            soonest = -(-need.work // need.max_workers) - 1
            if soonest >= len(need.utility):
                yield ElasticDecision(job, rejected=True, reason=Reason.CANNOT_FINISH)
                continue
            best_case = float(need.utility[soonest])
            if best_case < NOTHING_WORTH * standing.view.job_utility[job, 0]:
                yield ElasticDecision(job, rejected=True, reason=Reason.WORTH_NEXT_TO_NOTHING, utility=best_case)


def profile(slots: int, patience: float) -> Floats:
    """(slots,) what part of its price a slot has, by how far away it is: the present one next to nothing."""
    away = np.arange(slots, dtype=np.float64)
    return np.ones(slots) if patience == 0 else 1.0 - np.exp(-(away + 1e-3) / patience)


def parted(plan: Plan, slot: int) -> tuple[Plan, Plan]:
    """What it has in that slot, and the rest of it."""
    then = plan.slot == slot
    return Plan(*(column[then] for column in plan)), Plan(*(column[~then] for column in plan))


def joined(first: Plan, second: Plan) -> Plan:
    return Plan(*(np.concatenate(columns) for columns in zip(first, second, strict=True)))


def workers(plan: Plan) -> int:
    """Worker-slots."""
    return int(plan.amount[plan.role == WORKER].sum())
