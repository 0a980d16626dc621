"""From the result of a gpu run to its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster, Machines
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.gpu import Floats
from dovetail.records.gpu import (
    GpuDecisionRows,
    GpuJobRows,
    GpuMachineRows,
    GpuOutageRows,
    GpuPlaceRows,
    GpuRun,
    GpuSegmentRows,
    GpuSpeedRows,
)
from dovetail.records.run import run_name
from dovetail.sim.gpu import GpuResult

_SAME = ("arrival_s", "workers", "gpus", "cpus", "memory", "types", "work_s", "estimate_s")  # as the workload has them
_REACHED = ("running_s", "fee", "stops", "work_run_s", "alone_run_s")  # as the result has them


def record_gpu_run(
    result: GpuResult,
    cluster: GpuCluster,
    model: SpeedModel,
    scheduler: str,
    seed: int,
    params: Mapping[str, Any] | None = None,
) -> GpuRun:
    """The record of a run that was simulated with `record=True`.

    `params` is what differs from the scheduler's defaults.
    """
    workload, machines = result.workload, cluster.arrays()
    segments, rows, decided = result.segments, result.rows, result.decision_log
    return GpuRun(
        run=run_name(scheduler, seed, params),
        scheduler=scheduler,
        seed=seed,
        params=dict(params or {}),
        jobs=GpuJobRows(
            name=workload.job_name,
            user=tuple(workload.user_name[user] for user in workload.user.tolist()),
            kind=tuple(workload.kind_name[kind] for kind in workload.kind.tolist()),
            start_s=_never(result.start_s),
            finish_s=_never(result.finish_s),
            **{name: getattr(workload, name) for name in _SAME},
            **{name: getattr(result, name) for name in _REACHED},
        ),
        machines=GpuMachineRows(
            name=machines.name,
            type=tuple(GPU_TYPES[kind].name for kind in machines.type.tolist()),
            gpus=machines.gpus,
            cpus=machines.cpus,
            memory=machines.memory,
            rack=machines.rack,
            price=np.array([GPU_TYPES[kind].usd_per_hour for kind in machines.type.tolist()]),
        ),
        segments=GpuSegmentRows(
            job=_plain(segments["job"]),
            start_s=_plain(segments["start_s"]),
            end_s=_never(_plain(segments["end_s"])),
            why=_plain(segments["why"]),
            alone=_alone(result, machines, model),
        ),
        places=GpuPlaceRows(
            segment=_plain(rows["segment"]),
            machine=_plain(rows["machine"]),
            device=_plain(rows["device"]),
            devices=_plain(rows["mask"]),
            workers=_plain(rows["workers"]),
        ),
        decisions=GpuDecisionRows(
            stops=_plain(decided["stops"]).astype(np.bool_),
            **{name: _plain(decided[name]) for name in GpuDecisionRows.SCHEMA if name != "stops"},
        ),
        speeds=GpuSpeedRows(**{name: _plain(result.speeds[name]) for name in GpuSpeedRows.SCHEMA}),
        outages=GpuOutageRows(
            time_s=_plain(result.machine_log["time_s"]),
            machine=_plain(result.machine_log["machine"]),
            up=_plain(result.machine_log["up"]).astype(np.bool_),
        ),
    )


def _alone(result: GpuResult, machines: Machines, model: SpeedModel) -> Floats:
    """(S,) the speed of a segment by the types of its machines alone: that of the slowest."""
    workload, segment = result.workload, _plain(result.rows["segment"])
    kinds = np.array([model.kind_name.index(name) for name in workload.kind_name], np.int64)
    kind = kinds[workload.kind[_plain(result.segments["job"])]]
    slowest = np.full(len(result.segments), np.inf)
    np.minimum.at(slowest, segment, model.speed[kind[segment], machines.type[_plain(result.rows["machine"])]])
    return slowest


def _never(time_s: Floats) -> Floats:
    """Records write inf for what never came."""
    return np.where(np.isnan(time_s), np.inf, time_s)


def _plain(column: Any) -> Any:
    """A column of records as an array of its own."""
    return np.ascontiguousarray(column)
