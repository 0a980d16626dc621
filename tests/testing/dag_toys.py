"""Tiny workloads written by hand, and tiny schedulers to drive a world through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import DagDecision, DagView
from dovetail.sim.dag.options import DagOptions
from dovetail.testing import ReferenceDagWorld
from dovetail.workloads.dag import WAVES, DagCatalogue, DagWorkload

Samples = Mapping[tuple[str, int], Sequence[float]]  # by (wave, executors)


class ToyStage(NamedTuple):
    tasks: int
    seconds: float | Samples  # a number: every task takes so long
    parents: tuple[int, ...] = ()
    cpu: float = 1.0
    memory: float = 0.0


class ToyJob(NamedTuple):
    stages: Sequence[ToyStage]
    arrival_s: float = 0.0
    weight: float = 1.0
    deadline_s: float = float("inf")


def toy_workload(*jobs: ToyJob) -> DagWorkload:
    """Each job gets a dag of its own; jobs must be given in order of arrival."""
    stage_ptr, edge_ptr, edges = [0], [0], []
    stages: list[ToyStage] = []
    groups: list[tuple[int, int, int, list[float]]] = []
    for job in jobs:
        for position, stage in enumerate(job.stages):
            samples = stage.seconds
            if not isinstance(samples, Mapping):
                samples = {(wave, 1): [samples] for wave in WAVES}
            for (wave, level), durations in samples.items():
                groups.append((len(stages), WAVES.index(wave), level, list(durations)))
            edges += [(parent, position) for parent in stage.parents]
            stages.append(stage)
        stage_ptr.append(len(stages))
        edge_ptr.append(len(edges))
    groups.sort(key=lambda group: group[:3])
    catalogue = DagCatalogue(
        name="toy",
        dag_name=tuple(f"dag{d}" for d in range(len(jobs))),
        stage_ptr=np.array(stage_ptr),
        stage_name=tuple(f"s{s}" for s in range(len(stages))),
        num_tasks=np.array([stage.tasks for stage in stages]),
        cpu=np.array([stage.cpu for stage in stages], dtype=float),
        memory=np.array([stage.memory for stage in stages], dtype=float),
        edge_ptr=np.array(edge_ptr),
        edge_parent=np.array([parent for parent, _ in edges], dtype=np.int64),
        edge_child=np.array([child for _, child in edges], dtype=np.int64),
        duration_stage=np.array([group[0] for group in groups]),
        duration_wave=np.array([group[1] for group in groups]),
        duration_executors=np.array([group[2] for group in groups]),
        duration_ptr=np.cumsum([0, *(len(group[3]) for group in groups)]),
        duration_s=np.array([second for group in groups for second in group[3]], dtype=float),
    )
    return DagWorkload(
        catalogue=catalogue,
        job_name=tuple(f"job{j}" for j in range(len(jobs))),
        job_dag=np.arange(len(jobs)),
        arrival_s=np.array([job.arrival_s for job in jobs], dtype=float),
        weight=np.array([job.weight for job in jobs], dtype=float),
        deadline_s=np.array([job.deadline_s for job in jobs], dtype=float),
    )


def fifo(view: DagView) -> list[DagDecision]:
    """Everything on offer to the first stage that may be chosen, ready ones first."""
    valid = np.flatnonzero(view.stage_valid)
    ready = valid[view.stage_ready[valid]]
    stage = int((ready if ready.size else valid)[0])
    job = int(view.stage_job[stage])
    return [DagDecision(stage, int(view.job_executors[job]) + view.source_executors)]


def run(world: ReferenceDagWorld, decide=fifo) -> list[DagView]:
    """To the end; returns all views."""
    views = []
    while (view := world.advance()) is not None:
        views.append(view)
        world.apply(decide(view))
    return views


def world_of(*jobs: ToyJob, key: int = 1, failure_key: int = 2, **options) -> ReferenceDagWorld:
    return ReferenceDagWorld(toy_workload(*jobs), DagOptions(**options), key, failure_key)


def tasks(world: ReferenceDagWorld) -> list[tuple]:
    """(executor, job, stage, wave, start, end) in order of end."""
    return [(e, j, s, w, start, end) for e, j, s, w, _, start, end in world.task_log]


DRYING = ToyStage(3, {("fresh", 1): [2], ("rest", 1): [3]})
"""Two executors: both run 0-2, executor 0 a third task 2-5."""
