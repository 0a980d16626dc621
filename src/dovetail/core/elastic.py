"""Training jobs of workers and parameter servers whose numbers may change every slot: what a scheduler sees and says.

Time is cut into slots.  At the start of a slot, when it is known which jobs have arrived, the world asks once; the
answer may reject jobs for good, and may lay down for any job how many workers and parameter servers it has, where, in
this slot and in later ones.  What is laid down is booked in a calendar (host x resource x slot) and holds until the job
ends or another plan replaces it.

Workers and parameter servers live on hosts of their own: `worker hosts` are numbered 0 .. H - 1, `server hosts`
0 .. K - 1.  A *job index* is a position in the view, `job_id` the lasting name.  -1 is the only "none".  Arrays of a
view are read-only and valid until the next decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Bools, Floats, Ints

RESOURCES = ("gpu", "cpu", "memory", "storage", "bandwidth")
"""Columns of every demand and capacity: devices, virtual processors, GB, GB, Gbit/s."""
BANDWIDTH = RESOURCES.index("bandwidth")

WORKER, SERVER = 0, 1
"""Roles: column `role` of a plan."""


class Plan(NamedTuple):
    """Who stands where and when: `amount` workers (or parameter servers) on `host` in `slot`.  Rows in any order."""

    slot: Ints  # (n,) absolute slot, not before the present one
    role: Ints  # (n,) WORKER or SERVER
    host: Ints  # (n,) worker host or server host
    amount: Ints  # (n,) 1 or more


NOTHING = Plan(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


class ElasticView(NamedTuple):
    """The cluster at the start of a slot: jobs that are waiting or under way, and what the calendar has free.

    Jobs that were rejected or have ended are not in it.  S = slots - slot is the number of slots left.
    """

    slot: int  # the present one
    # jobs, by arrival
    job_id: Ints  # (J,) position of the job in the workload
    job_arrival: Ints  # (J,) slot in which it arrived
    job_admitted: Bools  # (J,) has been given a plan at least once
    job_work: Ints  # (J,) worker-slots in all
    job_work_left: Ints  # (J,) worker-slots not done yet, above 0
    job_max_workers: Ints  # (J,) at most so many workers in a slot: one for each chunk of its data
    job_worker_demand: Floats  # (J, R) of one worker
    job_server_demand: Floats  # (J, R) of one parameter server
    job_utility: Floats  # (J, 3) worth, decay, due: see `utility`
    job_promise: Ints  # (J,) slot by the end of which it must be complete, -1 = nothing was promised
    # what is booked for these jobs from the present slot on
    booked_job: Ints  # (B,) job index
    booked: Plan  # (B,) rows
    # what nobody has booked, from the present slot on
    worker_free: Floats  # (S, H, R)
    server_free: Floats  # (S, K, R)


class Reason(IntEnum):
    """Why a decision was taken."""

    UNSTATED = 0
    FIRST_ARRIVED = 1
    LOWEST_DOMINANT_SHARE = 2
    BEST_RISK_REWARD = 3
    TOO_LITTLE_SLACK = 4
    MAXIMAL_UTILISATION = 5
    EARLIEST_DUE = 6
    LEAST_WORK_LEFT = 7
    POSITIVE_PAYOFF = 8
    NO_POSITIVE_PAYOFF = 9
    CANNOT_FINISH = 10
    OFFLINE_OPTIMUM = 11
    BETTER_PLAN = 12
    LEARNED_PRICE = 13
    OUTSIDE_AGENT = 14
    DRAWN_AT_RANDOM = 15
    LAST_DIVISION = 16
    SPARE_CAPACITY = 17
    WORTH_NEXT_TO_NOTHING = 18


REASON_TEXT: dict[Reason, str] = {
    Reason.UNSTATED: "the scheduler gave no reason",
    Reason.FIRST_ARRIVED: "the job arrived first of those that fit",
    Reason.LOWEST_DOMINANT_SHARE: "its dominant share of the cluster was the lowest",
    Reason.BEST_RISK_REWARD: "it had the best balance of reward and of what waiting costs the others",
    Reason.TOO_LITTLE_SLACK: "it could wait too little before it is worth nothing",
    Reason.MAXIMAL_UTILISATION: "this division uses most of the cluster within the bounds on fairness and change",
    Reason.EARLIEST_DUE: "it is due first",
    Reason.LEAST_WORK_LEFT: "it has the least work left",
    Reason.POSITIVE_PAYOFF: "it is worth more than the resources it takes, at their present prices",
    Reason.NO_POSITIVE_PAYOFF: "no schedule is worth the resources it takes, at their present prices",
    Reason.CANNOT_FINISH: "no schedule finishes it before the last slot with what is free",
    Reason.OFFLINE_OPTIMUM: "the optimum of the whole sequence, computed in hindsight, says so",
    Reason.BETTER_PLAN: "a better plan was found for it, and it still keeps its promise",
    Reason.LEARNED_PRICE: "it is worth more than the resources it takes, at the price the learned policy sets",
    Reason.OUTSIDE_AGENT: "chosen by an agent outside",
    Reason.DRAWN_AT_RANDOM: "drawn at random",
    Reason.SPARE_CAPACITY: "nobody else can use this slot any more; nothing is promised",
    Reason.WORTH_NEXT_TO_NOTHING: "it would be worth next to nothing by the time it could be done",
    Reason.LAST_DIVISION: "no division was found in time, or nobody came or went: it keeps what it had",
}


class ElasticDecision(NamedTuple):
    """What becomes of one job.  All decisions of a slot are carried out together, or none of them.

    `rejected`: the job leaves for good and its bookings are freed; only a job that was promised nothing may be.
    Otherwise `plan` takes the place of everything booked for the job from the present slot on; an empty plan lets it
    wait.  `promise` is the slot by the end of which the plan completes the job.  The world holds the scheduler to it:
    a plan that does not complete the job by then, or a later plan that ends after it, is an `InvalidDecision`.
    `utility`, `cost` and `price` explain: what the job will be worth (of one that is rejected: would be, at best), what
    its resources cost at the prices of the moment (nan: not said), and the mean price of a worker-slot among them.
    """

    job: int  # job index of the view
    plan: Plan = NOTHING
    rejected: bool = False
    promise: int = -1  # absolute slot, -1 = none
    reason: Reason = Reason.UNSTATED
    utility: float = float("nan")
    cost: float = float("nan")
    price: float = float("nan")


@dataclass(frozen=True, eq=False)
class ElasticJobs:
    """Jobs as schedulers may know them: those of the past, from which prices are estimated, or those of the future.

    The same columns as in a view; see there.
    """

    arrival: Ints  # (J,)
    work: Ints  # (J,)
    max_workers: Ints  # (J,)
    worker_demand: Floats  # (J, R)
    server_demand: Floats  # (J, R)
    utility: Floats  # (J, 3)

    def __len__(self) -> int:
        return len(self.arrival)


@dataclass(frozen=True, eq=False)
class ElasticInfo:
    """What a scheduler is told once, before the first view."""

    slots: int  # the last slot is slots - 1
    slot_s: float  # seconds
    worker_capacity: Floats  # (H, R)
    server_capacity: Floats  # (K, R)
    history: ElasticJobs  # jobs of the same kind that came earlier; at least one
    expected_jobs: float  # how many of them a horizon of so many slots brings
    future: ElasticJobs | None = None  # all jobs to come; only where that is asked for (`CLAIRVOYANT`)


def utility(parameters: Floats, delay: Floats) -> Floats:
    """What a job is worth when it completes `delay` slots after the one it arrived in.

    A sigmoid, worth / (1 + exp(decay * (delay - due))).  parameters: (..., 3), delay: (...).
    """
    worth, decay, due = parameters[..., 0], parameters[..., 1], parameters[..., 2]
    exponent = np.clip(decay * (delay - due), -500.0, 500.0)
    values: NDArray[np.float64] = worth / (1.0 + np.exp(exponent))
    return values


def servers_needed(workers: Any, worker_bandwidth: Any, server_bandwidth: Any) -> Any:
    """Parameter servers whose bandwidth covers that of the workers: ceil(y b / B), safe against rounding.

    Numbers or arrays of them; what is returned are whole numbers as floats.  Kernels compile this very function.
    """
    return np.ceil(workers * worker_bandwidth / np.maximum(server_bandwidth, 1e-300) - 1e-9)


__all__ = [
    "BANDWIDTH",
    "NOTHING",
    "REASON_TEXT",
    "RESOURCES",
    "SERVER",
    "WORKER",
    "Bools",
    "ElasticDecision",
    "ElasticInfo",
    "ElasticJobs",
    "ElasticView",
    "Floats",
    "Ints",
    "Plan",
    "Reason",
    "servers_needed",
    "utility",
]
