"""Which stages of a job are troublesome, or lead to one that is: the idea of Graphene (OSDI 2016).

A stage is troublesome when its tasks are long (mean duration at least `long_threshold` of the longest in the
job) or hard to place (at most `fit_threshold` of the cluster's executors are large enough for one).  A stage
that a troublesome one depends on, directly or not, must run before it and so belongs to the same group.  In
jobs of more than 4,096 stages nothing is marked: the compiled twin has no more room.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import DagInfo, DagView, Ints
from dovetail.schedulers.heuristic.dag.list_kernel import MOST_MARKS


def executors_that_fit(view: DagView, stages: Ints, info: DagInfo) -> Ints:
    """For each of the stages, executors of the cluster that are large enough for one of its tasks."""
    cpu, memory = view.stage_cpu[stages], view.stage_memory[stages]
    fitting = np.zeros(len(stages), np.int64)
    for kind in info.classes:
        fitting += kind.count * ((cpu <= kind.cpu) & (memory <= kind.memory))
    return fitting


def leads_to_trouble(
    view: DagView, stages: list[int], info: DagInfo, long_threshold: float, fit_threshold: float
) -> list[bool]:
    """For each stage of the list."""
    marks: dict[int, bool] = {}
    for job in dict.fromkeys(view.stage_job[stages].tolist()):
        first, end = view.job_stage_ptr[job : job + 2].tolist()
        if end - first > MOST_MARKS:
            marks.update(dict.fromkeys(range(first, end), False))
            continue
        mean_s = view.stage_mean_s[first:end]
        troublesome = mean_s >= long_threshold * mean_s.max()
        if fit_threshold > 0.0:
            troublesome |= executors_that_fit(view, np.arange(first, end), info) <= fit_threshold * info.num_executors
        marks.update(enumerate(troublesome.tolist(), first))
        inside = (view.edge_parent >= first) & (view.edge_parent < end)
        edges = list(zip(view.edge_child[inside].tolist(), view.edge_parent[inside].tolist(), strict=True))
        edges.reverse()  # children before parents in most workloads, so that one pass is enough
        changed = True
        while changed:
            changed = False
            for child, parent in edges:
                if marks[child] and not marks[parent]:
                    marks[parent] = changed = True
    return [marks[stage] for stage in stages]
