"""From the result of an elastic run to its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import RESOURCES, Floats
from dovetail.records.elastic import (
    ElasticAllocationRows,
    ElasticDecisionRows,
    ElasticDemandRows,
    ElasticHostRows,
    ElasticJobRows,
    ElasticRun,
)
from dovetail.records.run import run_name
from dovetail.sim.elastic import ElasticResult


def record_elastic_run(
    result: ElasticResult,
    cluster: ElasticCluster,
    scheduler: str,
    seed: int,
    params: Mapping[str, Any] | None = None,
) -> ElasticRun:
    """The record of a run that was simulated with `record=True`.

    `params` is what differs from the scheduler's defaults.
    """
    workload = result.workload
    used = result.used[np.lexsort((result.used[:, 3], result.used[:, 2], result.used[:, 1], result.used[:, 0]))]
    decided = list(zip(*result.decision_log, strict=True)) or [()] * len(ElasticDecisionRows.SCHEMA)
    types = {"rejected": np.bool_, **dict.fromkeys(("utility", "cost", "price"), np.float64)}
    columns: dict[str, Any] = {
        name: np.array(column, dtype=types.get(name, np.int64))
        for name, column in zip(ElasticDecisionRows.SCHEMA, decided, strict=True)
    }
    return ElasticRun(
        run=run_name(scheduler, seed, params),
        scheduler=scheduler,
        seed=seed,
        params=dict(params or {}),
        slots=workload.slots,
        slot_s=workload.slot_s,
        jobs=ElasticJobRows(
            name=workload.job_name,
            arrival=workload.arrival,
            work=workload.work,
            max_workers=workload.chunks,
            worth=workload.utility[:, 0],
            decay=workload.utility[:, 1],
            due=workload.utility[:, 2],
            admitted=result.admitted,
            rejected=result.rejected,
            promise=result.promise,
            finish=result.finish,
            work_left=result.work_left,
            utility=result.utility,
        ),
        demands=_demands(workload.worker_demand, workload.server_demand),
        hosts=_hosts(result, cluster),
        allocations=ElasticAllocationRows(*used.T.copy()),
        decisions=ElasticDecisionRows(**columns),
    )


def _demands(worker: Floats, server: Floats) -> ElasticDemandRows:
    jobs = len(worker)
    both = np.stack((worker, server), axis=1).reshape(2 * jobs, -1)
    return ElasticDemandRows(job=np.repeat(np.arange(jobs), 2), role=np.tile(np.arange(2), jobs), **_by_name(both))


def _hosts(result: ElasticResult, cluster: ElasticCluster) -> ElasticHostRows:
    capacities = (result.worker_capacity, result.server_capacity)
    return ElasticHostRows(
        role=np.repeat(np.arange(2), [len(capacity) for capacity in capacities]),
        host=np.concatenate([np.arange(len(capacity)) for capacity in capacities]),
        kind=tuple(kind for kinds in cluster.names() for kind in kinds),
        **_by_name(np.concatenate(capacities)),
    )


def _by_name(amounts: Floats) -> dict[str, Floats]:
    return {name: amounts[:, column] for column, name in enumerate(RESOURCES)}
