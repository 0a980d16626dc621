"""What a run of the elastic family is judged by: the utility of the jobs that complete within the horizon, above all.

Completion times and the utility per job are means over the jobs that completed.  Where none did they are nan, in the
sequence and so in the mean over sequences: a mean over those sequences in which something completed would flatter.
A scheduler that admits few jobs can have short completion times, so these never stand without `completed_share`.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import RESOURCES, WORKER, Bools, Floats, Ints
from dovetail.core.errors import RecordError
from dovetail.evaluation.metric import Metric
from dovetail.records.elastic import ElasticRun

METRICS: dict[str, Metric] = {
    "total_utility": Metric(
        "total utility",
        "",
        True,
        "sum over all jobs of what their completion was worth: the less the longer it took, nothing if it never came",
    ),
    "completed_share": Metric("completed", "", True, "share of the jobs that completed", "percent"),
    "admitted_share": Metric("admitted", "", True, "share of the jobs that were given a plan at all", "percent"),
    "avg_jct_s": Metric("average JCT", "s", False, "mean time from arrival to completion, of jobs that completed"),
    "p95_jct_s": Metric("p95 JCT", "s", False, "95 of 100 jobs that completed did so within this time"),
    "avg_utility": Metric("utility per job", "", True, "mean utility of the jobs that completed"),
    "gpu_utilisation": Metric(
        "GPUs in use", "", True, "share of the GPUs that workers took, over all slots of the horizon", "percent"
    ),
    "utilisation": Metric(
        "utilisation", "", True, "the same of the resource of worker hosts that was taken most", "percent"
    ),
    "promises_kept": Metric(
        "promises kept", "", True, "share of the promised completions that came in time; 1 if none was made", "percent"
    ),
    "worker_slots": Metric("worker-slots", "", True, "workers summed over all slots: how much was put to work"),
}


def elastic_metrics(
    *,
    slots: int,
    slot_s: float,
    arrival: Ints,  # (J,) slot
    finish: Ints,  # (J,) slot, -1 = never
    promise: Ints,  # (J,) slot, -1 = none
    admitted: Bools,  # (J,)
    utility: Floats,  # (J,)
    worker_slots: Ints,  # (J,) that the job had
    worker_demand: Floats,  # (J, R)
    worker_capacity: Floats,  # (R,) of all worker hosts
) -> dict[str, float]:
    """All metrics by name, in the order of `METRICS`."""
    if arrival.size == 0:
        raise RecordError("no jobs, so there is nothing to measure")
    done = finish >= 0
    jct_s = (finish - arrival + 1)[done] * slot_s
    used: Floats = worker_slots @ worker_demand
    share = np.divide(used, worker_capacity * slots, out=np.zeros_like(used), where=worker_capacity > 0)
    promised = promise >= 0
    kept = done[promised] & (finish[promised] <= promise[promised])
    return {
        "total_utility": float(utility.sum()),
        "completed_share": float(done.mean()),
        "admitted_share": float(admitted.mean()),
        "avg_jct_s": float(jct_s.mean()) if jct_s.size else float("nan"),
        "p95_jct_s": float(np.percentile(jct_s, 95.0)) if jct_s.size else float("nan"),
        "avg_utility": float(utility[done].mean()) if jct_s.size else float("nan"),
        "gpu_utilisation": float(share[RESOURCES.index("gpu")]),
        "utilisation": float(share.max()),
        "promises_kept": float(kept.mean()) if kept.size else 1.0,
        "worker_slots": float(worker_slots.sum()),
    }


def run_metrics(run: ElasticRun) -> dict[str, float]:
    """The metrics of a recorded run."""
    jobs = run.jobs
    return elastic_metrics(
        slots=run.slots,
        slot_s=run.slot_s,
        arrival=jobs.arrival,
        finish=jobs.finish,
        promise=jobs.promise,
        admitted=jobs.admitted,
        utility=jobs.utility,
        worker_slots=run.standing(WORKER).sum(axis=1),
        worker_demand=run.demand(WORKER),
        worker_capacity=run.capacity(WORKER),
    )
