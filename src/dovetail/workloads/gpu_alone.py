"""What a job could get if it had the cluster for itself."""

from __future__ import annotations

import numpy as np

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.dag import Bools, Floats
from dovetail.workloads.gpu import GpuWorkload

_EPS = 1e-9  # a demand that fits but for rounding fits


def fits(jobs: GpuWorkload, cluster: GpuCluster) -> Bools:
    """(J,) does an empty cluster have room for all workers at once?"""
    return np.asarray(room(jobs, cluster) >= jobs.workers)


def room(jobs: GpuWorkload, cluster: GpuCluster) -> Floats:
    """(J,) workers that an empty cluster has room for, on machines of types that the job may run on."""
    machines = cluster.arrays()
    specs = np.column_stack((machines.type, machines.gpus, machines.cpus, machines.memory))
    total = np.zeros(jobs.num_jobs)
    with np.errstate(divide="ignore", invalid="ignore"):
        for (kind, gpus, cpus, memory), count in zip(*np.unique(specs, axis=0, return_counts=True), strict=True):
            part = (jobs.gpus > 0) & (jobs.gpus < 1)
            devices = np.where(part, gpus * np.floor(1 / jobs.gpus + _EPS), np.floor(gpus / jobs.gpus + _EPS))
            each = np.where(jobs.gpus > 0, devices, np.inf)
            each = np.minimum(each, np.where(jobs.cpus > 0, np.floor(cpus / jobs.cpus + _EPS), np.inf))
            each = np.minimum(each, np.where(jobs.memory > 0, np.floor(memory / jobs.memory + _EPS), np.inf))
            allowed = (jobs.types < 0) | (jobs.types >> int(kind) & 1 > 0)
            total += count * np.where(allowed, np.minimum(each, 1e9), 0.0)
    return total
