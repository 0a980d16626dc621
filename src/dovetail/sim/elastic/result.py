"""What an elastic run came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import WORKER, Bools, ElasticDecision, Floats, Ints, Plan, utility
from dovetail.workloads.elastic import ElasticWorkload


class UsedRow(NamedTuple):
    """What stood in a slot."""

    slot: int
    job: int
    role: int
    host: int
    amount: int


class DecisionRow(NamedTuple):
    """A decision as it is recorded; jobs by their lasting names."""

    slot: int
    job: int
    rejected: bool
    promise: int  # -1 = none
    worker_slots: int  # planned
    server_slots: int
    last_slot: int  # of the plan, -1 = an empty one
    utility: float
    cost: float
    price: float
    reason: int

    @classmethod
    def of(cls, slot: int, job: int, decision: ElasticDecision, plan: Plan) -> DecisionRow:
        workers = int(plan.amount[plan.role == WORKER].sum())
        return cls(
            slot=slot,
            job=job,
            rejected=bool(decision.rejected),
            promise=int(decision.promise),
            worker_slots=workers,
            server_slots=int(plan.amount.sum()) - workers,
            last_slot=int(plan.slot.max(initial=-1)),
            utility=float(decision.utility),
            cost=float(decision.cost),
            price=float(decision.price),
            reason=int(decision.reason),
        )


@dataclass(frozen=True, eq=False)
class ElasticResult:
    """Completion and utility of every job, and everything that stood anywhere."""

    workload: ElasticWorkload
    worker_capacity: Floats  # (H, R)
    server_capacity: Floats  # (K, R)
    finish: Ints  # (J,) slot in which the job completed, -1 = it did not
    admitted: Bools  # (J,) was given a plan
    rejected: Ints  # (J,) slot, -1 = was not
    promise: Ints  # (J,) slot, -1 = none
    work_left: Ints  # (J,) worker-slots
    utility: Floats  # (J,) 0 for jobs that did not complete
    decisions: int
    used: Ints  # (U, 5) slot, job, role, host, amount
    decision_log: tuple[DecisionRow, ...]

    @property
    def total_utility(self) -> float:
        return float(self.utility.sum())

    @classmethod
    def of(
        cls,
        workload: ElasticWorkload,
        *,
        worker_capacity: Floats,
        server_capacity: Floats,
        finish: Ints,
        admitted: Bools,
        rejected: Ints,
        promise: Ints,
        work_left: Ints,
        decisions: int,
        used: Sequence[UsedRow],
        decision_log: Sequence[DecisionRow],
    ) -> ElasticResult:
        worth = utility(workload.utility, (finish - workload.arrival).astype(np.float64))
        return cls(
            workload=workload,
            worker_capacity=worker_capacity,
            server_capacity=server_capacity,
            finish=finish,
            admitted=admitted,
            rejected=rejected,
            promise=promise,
            work_left=work_left,
            utility=np.where(finish >= 0, worth, 0.0),
            decisions=decisions,
            used=np.array(used, dtype=np.int64).reshape(-1, 5),
            decision_log=tuple(decision_log),
        )
