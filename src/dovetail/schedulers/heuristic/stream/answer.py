"""From the parallelism a rule wants to the decisions it answers with: within the limits, and only what changes."""

from __future__ import annotations

import numpy as np

from dovetail.core.stream import Bools, Floats, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.budget import within_slots

ROUNDING = 1e-6
"""A demand above a whole number by no more than this is that number."""


def instances(demand: Floats) -> Ints:
    """The whole number of instances that does for a fraction of them: rounded up."""
    return np.ceil(demand - ROUNDING).astype(np.int64)


def of_jobs(info: StreamInfo, marked: Bools) -> Bools:
    """(J,) whether any operator of a job is marked.

    One that changes restarts its whole job, so a rule asks for each job whether it is worth that; if so, all of its
    operators are set right at no further cost.
    """
    return np.bincount(info.operator_job, weights=marked, minlength=len(info.job_name)) > 0


def answer(
    info: StreamInfo, view: StreamView, wanted: Ints, reason: Ints | Reason, demand: Floats
) -> list[StreamDecision]:
    """Decisions for the operators that are to have another parallelism than they have; `reason` is one, or (O,)."""
    limited = np.clip(wanted, 1, info.operator_max)
    given = within_slots(limited, demand, info.slots)
    reasons = np.where(given < limited, int(Reason.OVER_BUDGET), reason)
    return [
        StreamDecision(i, int(given[i]), Reason(int(reasons[i])), float(demand[i]))
        for i in np.flatnonzero(given != view.parallelism).tolist()
    ]
