"""A small gpu workload solved by hand, on a cluster and with speeds made for it, that tests of several folders share.

Two machines of two GPUs each, in racks of their own: m0 of V100, m1 of T4, on which everything takes twice as long.
FIFO, on the first machines with room, does this:

    job      needs             arrives  runs                            speed
    a        2 GPUs                 0   0 to 100 on m0                  1
    b        2 workers, 1 GPU       0   0 to 200 on m1                  0.5
    <c>      half a GPU            10   100 to 162.5 on m0, device 0    0.8, with d
    d        half a GPU            20   100 to 162.5 on m0, device 0    0.8, with c
    e        no GPU                30   30 to 70 on m0                  1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, TYPE_INDEX, GpuCluster, Machine, cluster_of
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.recording_gpu import record_gpu_run
from dovetail.records import GpuRun
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuWorld, run
from dovetail.workloads.gpu import GpuWorkload

FIFO = "gpu/fifo+first-fit"
TROUBLES = {"mean_time_to_failure_s": 80.0, "repair_s": 20.0, "checkpoint_s": 30.0, "restart_s": 5.0}
"""Machines fail, and jobs come back."""
CLUSTER: GpuCluster = cluster_of(
    (Machine("m0", "V100", gpus=2, cpus=8, memory=32, rack=0), Machine("m1", "T4", gpus=2, cpus=8, memory=32, rack=1))
)


def toy_model() -> SpeedModel:
    """A T4 is half as fast; two on a device are 0.8 times as fast as one; nothing else matters."""
    speed = np.ones((2, len(GPU_TYPES)))
    speed[0, TYPE_INDEX["T4"]] = 0.5
    none = np.zeros((2, 3))
    return SpeedModel(
        kind_name=("net", "cpu"),
        speed=speed,
        network=np.zeros(2),
        host_pressure=none,
        host_sensitivity=none,
        device_pressure=np.array([[0.25], [0.0]]),
        device_sensitivity=np.array([[1.0], [0.0]]),
    )


def toy_workload() -> GpuWorkload:
    ones = np.ones(5)
    return GpuWorkload(
        job_name=("a", "b", "<c>", "d", "e"),
        arrival_s=np.array([0.0, 0.0, 10.0, 20.0, 30.0]),
        user=np.array([0, 1, 0, 1, 0]),
        kind=np.array([0, 0, 0, 0, 1]),
        workers=np.array([1, 2, 1, 1, 1]),
        gpus=np.array([2.0, 1.0, 0.5, 0.5, 0.0]),
        cpus=2.0 * ones,
        memory=4.0 * ones,
        types=np.array([-1, -1, -1, 1 << TYPE_INDEX["V100"], -1]),
        work_s=np.array([100.0, 100.0, 50.0, 50.0, 40.0]),
        estimate_s=np.array([90.0, 120.0, 50.0, 50.0, 40.0]),
        user_name=("ann", "bob"),
        kind_name=("net", "cpu"),
    )


def toy_result(spec: str = FIFO, seed: int = 0, **options: Any) -> GpuResult:
    seeds = SeedTree(seed)
    given = GpuOptions(CLUSTER, **{"mood_sigma": 0.0, **options})
    world = GpuWorld(toy_workload(), toy_model(), given, seeds, record=True)
    return run(world, SCHEDULERS.create(spec), seeds.generator())


def toy_run(spec: str = FIFO, seed: int = 0, **options: Any) -> GpuRun:
    """What becomes of `toy_workload` on `CLUSTER`."""
    return record_gpu_run(toy_result(spec, seed, **options), CLUSTER, toy_model(), spec.partition(":")[0], seed)
