"""What is left to pay when a run is cut short: an estimate, so that runs can be compared that end in the middle."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.kernels.dag_state import DagOne


def still_to_pay(one: DagOne) -> Floats:
    """(5,) an estimate for the jobs in the system, if they shared the cluster equally and nobody else came.

    Then job i takes the sum over all jobs k of min(work i, work k), divided by the executors.  Lateness counts as 0.
    """
    jobs = int(one.world["next_arrival"][0])
    mean_s = one.rows["mean_s"][one.stages["row"]]
    work_s = np.bincount(one.stages["job"], one.stages["left"] * mean_s, minlength=len(one.jobs))[:jobs]
    there = work_s > 0.0
    work_s, weight = work_s[there], one.jobs["weight"][:jobs][there]
    takes_s = np.minimum(work_s[:, None], work_s).sum(axis=1) / len(one.executors)
    known = {
        "time": takes_s.max(initial=0.0),
        "jobs": takes_s.sum(),
        "weight": takes_s @ weight,
        "executors": work_s.sum(),
    }
    return np.array([known.get(name, 0.0) for name in COSTS])
