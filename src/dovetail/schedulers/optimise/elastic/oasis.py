"""OASiS: online admission and scheduling of elastic training jobs by price (Bao, Peng, Wu, Li; INFOCOM 2018).

Every resource of every host has a price in every slot, which grows with what is booked of it (`prices`).  A job that
arrives is given the schedule with the largest payoff: what the job is worth when that schedule completes it, less the
price of what it takes (`planner`).  If no schedule has a payoff above 0, the job is rejected for good.  A job that was
admitted keeps its schedule.  The paper proves that the total utility is at least 1 / (2 alpha) of the best possible in
hindsight, alpha = max(1, ln(U / L)), for its own L (`fill` = infinity), U and L known and fixed (`trust` = infinity),
and small workers.

Departures: the floor of L, and that jobs that come correct U and L (`market`); jobs that arrive in the same slot, of
whose order the paper says nothing, are taken in order of what they are worth per unit of resource (`in_order` =
"arrival": of arrival); the sub-routine finds the optimum of the published dynamic program in another way and, where
that is faster, may leave a share `tolerance` of the job's utility (0: never).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticInfo, ElasticView, Reason
from dovetail.core.errors import ConfigError
from dovetail.schedulers.optimise.elastic.market import ERROR_HELP, TRUST_HELP, Market, check_error
from dovetail.schedulers.optimise.elastic.planner import Need, Planner, Proposal, Refusal

FEW = 3  # jobs within `fill` of the cluster: fewer are no market, and the next one's price would turn them away


@dataclass(frozen=True)
class OasisParams:
    fill: float = field(
        default=0.5,
        metadata={"help": "prices start where jobs that can pay fill this share of the cluster (inf: published)"},
    )
    trust: float = field(default=10.0, metadata=TRUST_HELP)
    in_order: str = field(default="worth", metadata={"help": "of jobs of the same slot: worth or arrival"})
    error: float = field(default=1.0, metadata=ERROR_HELP)
    tolerance: float = field(default=1e-3, metadata={"help": "share of a job's utility its schedule may leave"})

    def __post_init__(self) -> None:
        for name, low, high in (("fill", 0.0, math.inf), ("trust", 0.0, math.inf), ("tolerance", 0.0, 1.0)):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")
        if self.in_order not in ("worth", "arrival"):
            raise ConfigError(f"in_order is {self.in_order!r}; expected worth or arrival")
        check_error(self.error)


class Oasis:
    Params = OasisParams
    TUNE: ClassVar = {"fill": (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)}

    def __init__(self, params: OasisParams = OasisParams()) -> None:
        self.params = params

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self._info = info
        params = self.params
        self.market = Market(info, fill=params.fill, error=params.error, trust=params.trust, few=FEW)

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        self.market.see(view)
        new = np.flatnonzero(~view.job_admitted).tolist()
        if not new:
            return []
        planner = Planner(view, self._info, self.market.bounds)
        decisions = []
        needs = {job: Need.of(view, job, self._info.slots) for job in new}
        if self.params.in_order == "worth":
            new.sort(key=lambda job: -needs[job].density)
        for job in new:
            need = needs[job]
            found = planner.propose(need, tolerance=self.params.tolerance)
            if isinstance(found, Proposal):
                planner.take(need, found.plan)
                decisions.append(admitted(job, found, Reason.POSITIVE_PAYOFF))
            else:
                decisions.append(rejected(job, found))
        return decisions


def admitted(job: int, found: Proposal, reason: Reason) -> ElasticDecision:
    return ElasticDecision(
        job=job,
        plan=found.plan,
        promise=found.finish,
        reason=reason,
        utility=found.utility,
        cost=found.cost,
        price=found.price,
    )


def rejected(job: int, found: Refusal) -> ElasticDecision:
    """With the schedule that came closest, if there was one."""
    reason = Reason.NO_POSITIVE_PAYOFF if found.completes else Reason.CANNOT_FINISH
    return ElasticDecision(job=job, rejected=True, reason=reason, utility=found.utility, cost=found.cost)
