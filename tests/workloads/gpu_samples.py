"""Small gpu workloads for the tests."""

from __future__ import annotations

import numpy as np

from dovetail.cluster.gpu import GpuCluster
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import GpuSource


def record(arrival_s: tuple[float, ...] = (0.0, 10.0, 10.0, 70.0)) -> GpuWorkload:
    """Jobs of 100, 200, ... seconds: one GPU, half a GPU, two workers of 2 GPUs on V100 or A100, no GPU; and again."""
    num = len(arrival_s)
    place = np.arange(num)
    return GpuWorkload(
        job_name=tuple(f"r{i}" for i in place),
        arrival_s=np.array(arrival_s),
        user=place % 2,
        kind=np.array([0, 1, 0, 2] * num)[:num],
        workers=np.array([1, 1, 2, 1] * num)[:num],
        gpus=np.array([1.0, 0.5, 2.0, 0.0] * num)[:num],
        cpus=np.full(num, 4.0),
        memory=np.full(num, 16.0),
        types=np.array([-1, -1, 3, -1] * num)[:num],
        work_s=100.0 * (place + 1),
        estimate_s=120.0 * (place + 1),
        user_name=("ada", "bob"),
        kind_name=("lm-b5", "a3c", "cpu"),
    )


def recorded(arrival_s: tuple[float, ...] = (0.0, 10.0, 10.0, 70.0), cluster: GpuCluster | None = None) -> GpuSource:
    return GpuSource(
        name="toy",
        jobs=len(arrival_s),
        cluster=GpuCluster(2) if cluster is None else cluster,
        arrivals=GpuArrivals("trace"),
        recorded=record(arrival_s),
    )
