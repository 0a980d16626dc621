"""What a run is meant to keep small, as a price on what the world integrates.

The reward of a decision is minus what the objective adds up until the next one, so that rewards of a whole run sum
to minus the objective's total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import UnknownName

COSTS = ("time", "jobs", "weight", "late", "executors")
"""The integrals, in the order of the last axis of cost arrays; `docs/dag-model.md` defines them."""


@dataclass(frozen=True)
class Objective:
    """A weighted sum of the integrals."""

    name: str
    summary: str
    time: float = 0.0
    jobs: float = 0.0
    weight: float = 0.0
    late: float = 0.0
    executors: float = 0.0

    def prices(self) -> Floats:
        return np.array([getattr(self, name) for name in COSTS], dtype=np.float64)

    def cost(self, integrals: Mapping[str, float]) -> float:
        """The price of the integrals of one run, by their names."""
        return float(sum(getattr(self, name) * integrals[name] for name in COSTS))

    def reward(self, cost_difference: Floats) -> Floats:
        """Minus the price of what the integrals grew by.  (..., 5) -> (...,)"""
        return np.asarray(-(cost_difference @ self.prices()), dtype=np.float64)


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("average-jct", "sum of all completion times: jobs in the system, over time", jobs=1.0),
        Objective("makespan", "time until the last job is complete", time=1.0),
        Objective("weighted-jct", "completion times, each times its job's weight", weight=1.0),
        Objective(
            "deadline",
            "time that jobs spend past their deadline, and a little of all time",
            late=1.0,
            jobs=0.01,
        ),
        Objective("cost", "executors held, and ten times the jobs in the system", executors=1.0, jobs=10.0),
    )
}


def objective(name: str) -> Objective:
    if name not in OBJECTIVES:
        raise UnknownName("objective", name, OBJECTIVES)
    return OBJECTIVES[name]
