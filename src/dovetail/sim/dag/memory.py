"""Allocating the arrays that the dag kernels work on, and looking at them as a view."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.dag import DagView, Ints
from dovetail.sim.kernels import dag_state as layout
from dovetail.sim.kernels.dag_state import DagBuffers, DagOne, DagRecords, DagTable, allocate


def allocate_world(table: DagTable, jobs: int, stages: int) -> DagOne:
    """Room for a world of at most that many jobs and stages; `reset` fills it."""
    executors = int(table.settings["num_executors"][0])
    classes = len(table.class_order)
    return DagOne(
        allocate(1, layout.WORLD),
        allocate(jobs, layout.JOB),
        allocate(stages, layout.STAGE),
        np.zeros(stages * classes, dtype=np.int64),
        allocate(executors, layout.EXECUTOR),
        allocate(executors, layout.COMMITMENT),
        allocate(executors, layout.EVENT),
        allocate(jobs + 1, layout.GROUP),
        allocate((jobs + 1) * classes, layout.QUEUE),
        np.zeros(classes, dtype=np.int64),
        *table,
    )


def parts_in_play(one: DagOne) -> list[Ints]:
    """All that decisions can change, as plain numbers; stages, the bulk of it, only from the oldest job present on."""
    first = int(one.jobs[one.world[0]["first_active"]]["first_stage"])
    end = len(one.stages)
    if one.world[0]["next_arrival"] < one.world[0]["num_jobs"]:
        end = int(one.jobs[one.world[0]["next_arrival"]]["first_stage"])
    classes = len(one.class_order)
    parts = one._replace(
        stages=one.stages[first:end],
        stage_executors=one.stage_executors[first * classes : end * classes],
    )
    return [part.view(np.int64) for part in parts[: len(DagOne._fields) - len(DagTable._fields)]]


def allocate_buffers(jobs: int, stages: int, edges: int, classes: int, worlds: int = 1) -> DagBuffers:
    """Room for the views of `worlds` worlds, one after the other, of that size in all."""
    return DagBuffers(
        job_ints=np.zeros((layout.JOB_INTS, jobs), dtype=np.int64),
        job_ptr=np.zeros(jobs + worlds, dtype=np.int64),
        job_floats=np.zeros((layout.JOB_FLOATS, jobs), dtype=np.float64),
        stage_ints=np.zeros((layout.STAGE_INTS, stages), dtype=np.int64),
        stage_floats=np.zeros((layout.STAGE_FLOATS, stages), dtype=np.float64),
        stage_flags=np.zeros((layout.STAGE_FLAGS, stages), dtype=np.bool_),
        edge_ints=np.zeros((layout.EDGE_INTS, edges), dtype=np.int64),
        by_class=np.zeros(classes * worlds, dtype=np.int64),
    )


def view_columns(buffers: DagBuffers) -> DagView:
    """The buffers' rows, read-only and whole, under the names of a view; the scalars are empty."""

    def read_only(row: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        view = row.view()
        view.flags.writeable = False
        return view

    jobs_i = [read_only(row) for row in buffers.job_ints]
    jobs_f = [read_only(row) for row in buffers.job_floats]
    stages_i = [read_only(row) for row in buffers.stage_ints]
    stages_f = [read_only(row) for row in buffers.stage_floats]
    flags = [read_only(row) for row in buffers.stage_flags]
    edges = [read_only(row) for row in buffers.edge_ints]
    return DagView(
        time_s=0.0,
        source_job=-1,
        source_stage=-1,
        source_executors=0,
        source_by_class=read_only(buffers.by_class),
        job_id=jobs_i[layout.JOB_ID],
        job_arrival_s=jobs_f[layout.JOB_ARRIVAL],
        job_weight=jobs_f[layout.JOB_WEIGHT],
        job_deadline_s=jobs_f[layout.JOB_DEADLINE],
        job_executors=jobs_i[layout.JOB_EXECUTORS],
        job_unclaimed=jobs_i[layout.JOB_UNCLAIMED],
        job_work_s=jobs_f[layout.JOB_WORK],
        job_work_left_s=jobs_f[layout.JOB_WORK_LEFT],
        job_stage_ptr=read_only(buffers.job_ptr),
        stage_id=stages_i[layout.STAGE_ID],
        stage_job=stages_i[layout.STAGE_JOB],
        stage_tasks=stages_i[layout.STAGE_TASKS],
        stage_left=stages_i[layout.STAGE_LEFT],
        stage_running=stages_i[layout.STAGE_RUNNING],
        stage_unclaimed=stages_i[layout.STAGE_UNCLAIMED],
        stage_profile=stages_i[layout.STAGE_PROFILE],
        stage_mean_s=stages_f[layout.STAGE_MEAN],
        stage_critical_path_s=stages_f[layout.STAGE_CRITICAL_PATH],
        stage_cpu=stages_f[layout.STAGE_CPU],
        stage_memory=stages_f[layout.STAGE_MEMORY],
        stage_ready=flags[layout.STAGE_READY],
        stage_valid=flags[layout.STAGE_VALID],
        edge_parent=edges[layout.EDGE_PARENT],
        edge_child=edges[layout.EDGE_CHILD],
    )


def view_arrays(columns: DagView, jobs: int, stages: int, edges: int) -> tuple[np.ndarray[Any, Any], ...]:
    """The arrays of a view of that size, in the order of `DagView`; they start at the first row."""
    rows = {"sou": len(columns.source_by_class), "job": jobs, "sta": stages, "edg": edges}
    sizes = {name: rows[name[:3]] for name in DagView._fields[4:]} | {"job_stage_ptr": jobs + 1}
    return tuple(getattr(columns, name)[:size] for name, size in sizes.items())


def allocate_records(tasks: int, decisions: int) -> DagRecords:
    return DagRecords(tasks=allocate(tasks, layout.TASK_RECORD), decisions=allocate(decisions, layout.DECISION_RECORD))


def grow_records(records: DagRecords) -> DagRecords:
    """Twice the room, same content."""
    larger = allocate_records(2 * len(records.tasks), 2 * len(records.decisions))
    larger.tasks[: len(records.tasks)] = records.tasks
    larger.decisions[: len(records.decisions)] = records.decisions
    return larger


def count_stages(table: DagTable, job_dag: Ints) -> int:
    ptr = table.dags["stage_ptr"]
    return int((ptr[job_dag + 1] - ptr[job_dag]).sum())


def count_edges(table: DagTable, job_dag: Ints) -> int:
    ptr = table.dags["edge_ptr"]
    return int((ptr[job_dag + 1] - ptr[job_dag]).sum())
