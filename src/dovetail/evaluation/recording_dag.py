"""From the simulator's result to the record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.records.dag import (
    DagDecisions,
    DagEdges,
    DagJobs,
    DagRun,
    DagStages,
    DagTasks,
)
from dovetail.records.run import run_name
from dovetail.sim.dag.result import DagResult
from dovetail.workloads.dag import DagWorkload, block_rows
from dovetail.workloads.durations import ideal_s


def record_dag_run(result: DagResult, scheduler: str, seed: int, params: Mapping[str, Any] | None = None) -> DagRun:
    """The record of a run that was simulated with `record=True`.

    `params` is what differs from the scheduler's defaults.
    """
    workload = result.workload
    tasks = result.tasks[np.lexsort((result.tasks["executor"], result.tasks["start_s"]))]
    stages, edges = _structure(workload)
    return DagRun(
        run=run_name(scheduler, seed, params),
        scheduler=scheduler,
        seed=seed,
        params=dict(params or {}),
        executors=result.num_executors,
        jobs=_jobs(workload, result.finish_s, result.num_executors),
        stages=stages,
        edges=edges,
        tasks=DagTasks(
            executor=_ints(tasks, "executor"),
            job=_ints(tasks, "job"),
            stage=_ints(tasks, "stage"),
            wave=_ints(tasks, "wave"),
            lost=np.asarray(tasks["lost"], dtype=np.bool_),
            start_s=np.asarray(tasks["start_s"], dtype=np.float64),
            end_s=np.asarray(tasks["end_s"], dtype=np.float64),
        ),
        decisions=DagDecisions(
            time_s=np.asarray(result.decision_log["time_s"], dtype=np.float64),
            **{name: _ints(result.decision_log, name) for name in DagDecisions.SCHEMA if name != "time_s"},
        ),
    )


def _jobs(workload: DagWorkload, finish_s: Floats, executors: int) -> DagJobs:
    catalogue, dag = workload.catalogue, workload.job_dag
    return DagJobs(
        name=workload.job_name,
        dag=tuple(catalogue.dag_name[d] for d in dag.tolist()),
        arrival_s=workload.arrival_s,
        finish_s=np.where(np.isnan(finish_s), np.inf, finish_s),
        weight=workload.weight,
        deadline_s=workload.deadline_s,
        work_s=workload.job_work_s,
        ideal_s=ideal_s(catalogue, executors)[dag],
    )


def _structure(workload: DagWorkload) -> tuple[DagStages, DagEdges]:
    """Stages and dependencies of every job of the sequence, from those of its kind."""
    catalogue, dag = workload.catalogue, workload.job_dag
    job = np.arange(workload.num_jobs)
    rows, edges = block_rows(catalogue.stage_ptr, dag), block_rows(catalogue.edge_ptr, dag)
    stages = DagStages(
        job=np.repeat(job, np.diff(catalogue.stage_ptr)[dag]),
        stage=rows - catalogue.stage_ptr[catalogue.stage_dag[rows]],
        name=tuple(catalogue.stage_name[row] for row in rows.tolist()),
        tasks=catalogue.num_tasks[rows],
    )
    return stages, DagEdges(
        job=np.repeat(job, np.diff(catalogue.edge_ptr)[dag]),
        parent=catalogue.edge_parent[edges],
        child=catalogue.edge_child[edges],
    )


def _ints(table: np.ndarray[Any, Any], column: str) -> Ints:
    return np.asarray(table[column], dtype=np.int64)
