"""What an episode came to."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.dag.result import DagResult


def costs_of(result: DagResult) -> Floats:
    """(5,) the integrals at the end of a run, in the order of `COSTS`."""
    return np.array([result.costs[name] for name in COSTS])


def statistics(result: DagResult, cost: float) -> dict[str, float | int]:
    """What an episode came to; means are over the jobs that were completed."""
    done = result.completion_s[~np.isnan(result.completion_s)]
    return {
        "avg_jct_s": float(done.mean()) if len(done) else float("nan"),
        "jobs_completed": len(done),
        "jobs_left": len(result.finish_s) - len(done),
        "end_s": result.end_s,
        "cost": cost,
        "decisions": result.decisions,
    }
