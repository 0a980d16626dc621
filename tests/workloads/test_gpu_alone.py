from dataclasses import replace

import numpy as np
from tests.workloads.gpu_samples import record

from dovetail.cluster.gpu import GpuCluster, Machine, cluster_of
from dovetail.workloads.gpu_alone import fits, room


def test_room_by_the_scarcest_resource():
    jobs = record()  # of 4 processors and 16 GB each: 1 GPU, half a GPU, two GPUs on V100 or A100, none
    assert room(jobs, GpuCluster(2)).tolist() == [8, 16, 4, 16]  # 32 processors a machine
    assert room(jobs, GpuCluster(1, ("t4x4",))).tolist() == [4, 8, 0, 12]
    narrow = cluster_of((Machine("a", "V100", 4, cpus=9, memory=1000), Machine("b", "V100", 0, cpus=8, memory=17)))
    assert room(jobs, narrow).tolist() == [2, 2, 2, 3]


def test_all_workers_must_fit_at_once():
    jobs = record()
    assert fits(jobs, GpuCluster(1)).all()
    assert fits(jobs, GpuCluster(1, ("v100x1",))).tolist() == [True, True, False, True]
    thirds = replace(jobs, gpus=np.array([1 / 3, 0.34, 2.0, 0.0]), cpus=np.zeros(4), memory=np.zeros(4))
    assert room(thirds, GpuCluster(1)).tolist() == [12, 8, 2, 1e9]
