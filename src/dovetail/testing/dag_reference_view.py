"""A `DagView` built from plain objects: the whole state, afresh each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dovetail.core.dag import Bools, DagView, Floats, Ints
from dovetail.testing.dag_reference_state import Job, Round, Stage


def build_view(time_s: float, jobs: Sequence[Job], round_: Round, held: dict[Job, int], valid: set[Stage]) -> DagView:
    """The view of a round: `jobs` are those in the system, `valid` are the stages that may be chosen."""
    stages = [stage for job in jobs for stage in job.stages]
    job_index = {job: index for index, job in enumerate(jobs)}
    stage_index = {stage: index for index, stage in enumerate(stages)}
    edges = [edge for job in jobs for edge in job.edges]
    stage_ptr = [0]
    for job in jobs:
        stage_ptr.append(stage_ptr[-1] + len(job.stages))
    return DagView(
        time_s=time_s,
        source_job=-1 if round_.job is None else job_index[round_.job],
        source_stage=-1 if round_.stage is None else stage_index[round_.stage],
        source_executors=sum(round_.on_offer),
        source_by_class=_ints(round_.on_offer),
        job_id=_ints(job.number for job in jobs),
        job_arrival_s=_floats(job.arrival_s for job in jobs),
        job_weight=_floats(job.weight for job in jobs),
        job_deadline_s=_floats(job.deadline_s for job in jobs),
        job_executors=_ints(held[job] for job in jobs),
        job_unclaimed=_ints(sum(stage.unclaimed for stage in job.stages) for job in jobs),
        job_work_s=_floats(job.work_s for job in jobs),
        job_work_left_s=_floats(_work_left_s(job) for job in jobs),
        job_stage_ptr=_ints(stage_ptr),
        stage_id=_ints(stage.id for stage in stages),
        stage_job=_ints(job_index[stage.job] for stage in stages),
        stage_tasks=_ints(stage.tasks for stage in stages),
        stage_left=_ints(stage.tasks - stage.finished for stage in stages),
        stage_running=_ints(len(stage.executors) for stage in stages),
        stage_unclaimed=_ints(stage.unclaimed for stage in stages),
        stage_profile=_ints(stage.row for stage in stages),
        stage_mean_s=_floats(stage.mean_s for stage in stages),
        stage_critical_path_s=_floats(stage.critical_path_s for stage in stages),
        stage_cpu=_floats(stage.cpu for stage in stages),
        stage_memory=_floats(stage.memory for stage in stages),
        stage_ready=_bools(stage.ready for stage in stages),
        stage_valid=_bools(stage in valid for stage in stages),
        edge_parent=_ints(stage_index[parent] for parent, _ in edges),
        edge_child=_ints(stage_index[child] for _, child in edges),
    )


def _work_left_s(job: Job) -> float:
    total = 0.0
    for stage in job.stages:
        total += (stage.tasks - stage.finished) * stage.mean_s
    return total


def _ints(values: Iterable[int]) -> Ints:
    array = np.array(list(values), dtype=np.int64)
    array.flags.writeable = False
    return array


def _floats(values: Iterable[float]) -> Floats:
    array = np.array(list(values), dtype=np.float64)
    array.flags.writeable = False
    return array


def _bools(values: Iterable[bool]) -> Bools:
    array = np.array(list(values), dtype=np.bool_)
    array.flags.writeable = False
    return array
