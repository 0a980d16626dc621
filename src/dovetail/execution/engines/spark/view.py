"""The application as a `DagView`.

Every slot is an executor of one class, and every task fits.  Moving costs nothing.  Times count from the first look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import DagInfo, DagView, ExecutorClass
from dovetail.execution.controller.look_ahead import LiveLookAhead
from dovetail.execution.engines.spark.jobs import TO_COME, Job, Stage
from dovetail.execution.engines.spark.slots import held, unclaimed

_NUMBERS = ("time_s", "source_job", "source_stage", "source_executors")
_COLUMNS = tuple(name for name in DagView._fields if name not in _NUMBERS)


class Offer(NamedTuple):
    """Slots to be given away: idle ones, or those of a stage that has no task left to launch."""

    slots: int
    source: Stage | None


def info_of(slots: int) -> DagInfo:
    classes = (ExecutorClass(slots),)
    return DagInfo(slots, classes, moving_delay_s=0.0, look_ahead=LiveLookAhead(classes, 0.0))


def view_of(jobs: Sequence[Job], offer: Offer, chosen: set[Stage], time_s: float) -> tuple[DagView, list[Stage]]:
    """The view, and the stages in its order.  `jobs`: those with work, by arrival; `chosen`: earlier in this round."""
    stages: list[Stage] = []
    pointers = [0]
    for at, job in enumerate(jobs):
        job.row = at
        stages += (*job.stages, *job.to_come)
        pointers.append(len(stages))
    for at, stage in enumerate(stages):
        stage.row = at
    edges = [(parent.row, stage.row) for stage in stages for parent in stage.parents if parent.job is stage.job]
    _set_critical_paths(stages, edges)
    wanted = np.array([unclaimed(stage) for stage in stages], dtype=np.int64)
    means = np.array([stage.estimate.mean_s for stage in stages])
    tasks = np.array([stage.tasks for stage in stages], dtype=np.int64)
    left = np.array([stage.tasks - _finished(stage) for stage in stages], dtype=np.int64)
    parents = np.array([parent for parent, _ in edges], dtype=np.int64)
    children = np.array([child for _, child in edges], dtype=np.int64)
    valid = wanted > 0
    valid[children[wanted[parents] > 0]] = False  # a parent still has tasks to hand out
    for stage in stages:
        if stage.state == TO_COME or stage in chosen:
            valid[stage.row] = False
    job_held = np.array([held(job) for job in jobs], dtype=np.int64)
    source_job = source_stage = -1
    if offer.source is not None and offer.source.job.is_active:
        source_job, source_stage = offer.source.job.row, offer.source.row
        job_held[source_job] -= offer.slots
    owner = np.array([stage.job.row for stage in stages], dtype=np.int64)
    many = len(jobs)
    view = DagView(
        time_s=time_s,
        source_job=source_job,
        source_stage=source_stage,
        source_executors=offer.slots,
        source_by_class=np.array([offer.slots], dtype=np.int64),
        job_id=np.array([job.number for job in jobs], dtype=np.int64),
        job_arrival_s=np.array([job.since_s for job in jobs]),
        job_weight=np.ones(many),
        job_deadline_s=np.full(many, np.inf),
        job_executors=job_held,
        job_unclaimed=np.bincount(owner, wanted, many).astype(np.int64),
        job_work_s=np.bincount(owner, tasks * means, many).astype(np.float64),
        job_work_left_s=np.bincount(owner, left * means, many).astype(np.float64),
        job_stage_ptr=np.array(pointers, dtype=np.int64),
        stage_id=np.array([at - pointers[stage.job.row] for at, stage in enumerate(stages)], dtype=np.int64),
        stage_job=owner,
        stage_tasks=tasks,
        stage_left=left,
        stage_running=np.array([stage.running for stage in stages], dtype=np.int64),
        stage_unclaimed=wanted,
        stage_profile=np.full(len(stages), -1, dtype=np.int64),
        stage_mean_s=means,
        stage_critical_path_s=np.array([stage.critical_path_s for stage in stages]),
        stage_cpu=np.ones(len(stages)),
        stage_memory=np.zeros(len(stages)),
        stage_ready=np.array([stage.is_ready for stage in stages], dtype=np.bool_),
        stage_valid=valid,
        edge_parent=parents,
        edge_child=children,
    )
    for name in _COLUMNS:
        getattr(view, name).flags.writeable = False
    return view, stages


def _finished(stage: Stage) -> int:
    return stage.tasks if stage.is_done else min(stage.finished, stage.tasks)


def _set_critical_paths(stages: Sequence[Stage], edges: Sequence[tuple[int, int]]) -> None:
    """The longest chain after each, one task each.  Children may stand before parents, so it is done by need."""
    children: dict[int, list[int]] = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    left = {at: len(children.get(at, ())) for at in range(len(stages))}
    parents: dict[int, list[int]] = {}
    for parent, child in edges:
        parents.setdefault(child, []).append(parent)
    for stage in stages:
        stage.critical_path_s = stage.estimate.mean_s
    ripe = [at for at, many in left.items() if many == 0]
    while ripe:
        at = ripe.pop()
        for parent in parents.get(at, ()):
            path_s = stages[parent].estimate.mean_s + stages[at].critical_path_s
            stages[parent].critical_path_s = max(stages[parent].critical_path_s, path_s)
            left[parent] -= 1
            if left[parent] == 0:
                ripe.append(parent)
