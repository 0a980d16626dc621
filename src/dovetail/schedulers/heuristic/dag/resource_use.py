"""How much of the cluster's threads and memory a job uses, and how much one of its waiting tasks needs.

A resource without bound (the single class of a cluster that knows no sizes) is never scarce: of memory every share is
0; threads are then counted as executors, each of which runs one task at a time.
"""

from __future__ import annotations

from math import isinf
from typing import cast

import numpy as np

from dovetail.core.dag import DagInfo, DagView, Floats, Ints
from dovetail.schedulers.heuristic.dag.list_kernel import LEAST_DEMAND
from dovetail.schedulers.heuristic.dag.list_rule import Equal

Totals = tuple[float, float]  # threads and memory of the cluster


def cluster_totals(info: DagInfo) -> Totals:
    cpu = sum(kind.count * kind.cpu for kind in info.classes)
    return float(info.num_executors if isinf(cpu) else cpu), float(sum(k.count * k.memory for k in info.classes))


def used_share(view: DagView, resource: Equal, totals: Totals) -> list[float]:
    """By job index: the share of the cluster that its running tasks use, the larger one if `resource` is DOMINANT."""
    cpu, memory = _sums(view, view.stage_running)
    return _of(resource, cpu / totals[0], memory / totals[1])


def needed_share(view: DagView, resource: Equal, totals: Totals) -> list[float]:
    """By job index: what a task that nobody has claimed needs on average; saturated jobs need the least there is."""
    cpu, memory = _sums(view, view.stage_unclaimed)
    tasks = np.maximum(np.bincount(view.stage_job, view.stage_unclaimed, len(view.job_id)), 1.0)
    needed = _of(resource, cpu / (totals[0] * tasks), memory / (totals[1] * tasks))
    return [max(need, LEAST_DEMAND) for need in needed]


def _sums(view: DagView, tasks: Ints) -> tuple[Floats, Floats]:
    """Demand of so many tasks of each stage, by job.  In order of stages, as the kernel adds them up."""
    jobs = len(view.job_id)
    return (
        np.bincount(view.stage_job, tasks * view.stage_cpu, jobs).astype(np.float64, copy=False),
        np.bincount(view.stage_job, tasks * view.stage_memory, jobs).astype(np.float64, copy=False),
    )


def _of(resource: Equal, cpu: Floats, memory: Floats) -> list[float]:
    chosen = cpu if resource == Equal.THREADS else memory if resource == Equal.MEMORY else np.maximum(cpu, memory)
    return cast(list[float], chosen.tolist())
