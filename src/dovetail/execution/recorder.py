"""What really happened, in the form of a simulated run's record: `report`, `explain` and `export` read both alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.execution.controller.manager import REST
from dovetail.execution.controller.messages import Run
from dovetail.execution.controller.referee import Gift
from dovetail.execution.controller.state import Round
from dovetail.execution.job_table import JobRecord
from dovetail.execution.outfile import FINISHED
from dovetail.execution.workers import Entry
from dovetail.records.dag import DagDecisions, DagEdges, DagJobs, DagRun, DagStages, DagTasks
from dovetail.records.run import run_name

TaskRow = tuple[int, int, int, int, bool, float, float]
"""executor, job, stage, wave, lost, start_s, end_s"""
DecisionRow = tuple[float, int, int, int, int, int, int, int, int, int]
"""As in `records.dag.DagDecisions`; jobs by their numbers."""


class Recorder:
    """Collects rows; times are the controller's, from its start."""

    def __init__(self) -> None:
        self.tasks: list[TaskRow] = []
        self.decisions: list[DecisionRow] = []
        self.arrival_s: dict[int, float] = {}  # by job
        self.finish_s: dict[int, float] = {}

    def decided(self, now_s: float, round_: Round, gift: Gift) -> None:
        source_job = -1 if round_.job is None else round_.job.number
        source_stage = -1 if round_.stage is None else round_.stage.id
        chosen = (gift.stage.job.number, gift.stage.id, gift.limit, gift.given, gift.executor_class, gift.reason)
        self.decisions.append((now_s, source_job, source_stage, gift.on_offer, *chosen))

    def ended(self, run: Run, entries: Sequence[Entry], origin_s: float, time_scale: float) -> None:
        """A report of an executor: tasks that failed or were cancelled are recorded as lost."""
        for task, how, _, _, started_s, ended_s, _ in entries:
            wave = run.wave if task == run.tasks[0] else REST
            times = (started_s - origin_s) / time_scale, (ended_s - origin_s) / time_scale
            self.tasks.append((run.executor, run.job, run.stage, wave, how != FINISHED, *times))

    def dag_run(
        self, scheduler: str, params: Mapping[str, Any], seed: int, executors: int, records: Sequence[JobRecord]
    ) -> DagRun:
        """The record of the jobs given, which are numbered anew in their order."""
        place = {record.job: at for at, record in enumerate(records)}
        tasks = sorted((row for row in self.tasks if row[1] in place), key=lambda row: (row[5], row[0]))
        decisions = [row for row in self.decisions if row[4] in place or row[4] < 0]
        first_s = min((self.arrival_s[record.job] for record in records), default=0.0)
        stages, edges = _structure(records)
        columns = list(zip(*tasks, strict=True)) or [()] * 7
        said = list(zip(*decisions, strict=True)) or [()] * 10
        return DagRun(
            run=run_name(scheduler, seed, params),
            scheduler=scheduler,
            seed=seed,
            params=dict(params),
            executors=executors,
            jobs=self._jobs(records, tasks, executors, first_s),
            stages=stages,
            edges=edges,
            tasks=DagTasks(
                executor=_ints(columns[0]),
                job=_ints([place[job] for job in columns[1]]),
                stage=_ints(columns[2]),
                wave=_ints(columns[3]),
                lost=np.array(columns[4], dtype=np.bool_),
                start_s=_floats(columns[5]) - first_s,
                end_s=_floats(columns[6]) - first_s,
            ),
            decisions=DagDecisions(
                time_s=_floats(said[0]) - first_s,
                source_job=_ints([place.get(job, -1) for job in said[1]]),
                source_stage=_ints(
                    [stage if job in place else -1 for job, stage in zip(said[1], said[2], strict=True)]
                ),
                on_offer=_ints(said[3]),
                job=_ints([place.get(job, -1) for job in said[4]]),
                stage=_ints(said[5]),
                limit=_ints(said[6]),
                given=_ints(said[7]),
                executor_class=_ints(said[8]),
                reason=_ints(said[9]),
            ),
        )

    def _jobs(self, records: Sequence[JobRecord], tasks: Sequence[TaskRow], executors: int, first_s: float) -> DagJobs:
        """Work and least time alone are judged by the mean of what the tasks really took."""
        total_s = [np.zeros(len(record.spec.stages)) for record in records]
        counts = [np.zeros(len(record.spec.stages)) for record in records]
        place = {record.job: at for at, record in enumerate(records)}
        for _, job, stage, _, lost, start_s, end_s in tasks:
            if not lost:
                total_s[place[job]][stage] += end_s - start_s
                counts[place[job]][stage] += 1
        work_s, ideal_s = [], []
        for at, record in enumerate(records):
            mean_s = total_s[at] / np.maximum(counts[at], 1)
            work_s.append(float(total_s[at].sum()))
            ideal_s.append(max(_chain_s(record, mean_s), work_s[-1] / executors, 1e-9))
        return DagJobs(
            name=tuple(record.spec.name for record in records),
            dag=tuple(record.spec.name for record in records),
            arrival_s=_floats([self.arrival_s[record.job] for record in records]) - first_s,
            finish_s=_floats([self.finish_s.get(record.job, np.inf) for record in records]) - first_s,
            weight=_floats([record.spec.weight for record in records]),
            deadline_s=_floats(
                [
                    np.inf if record.spec.deadline_s is None else self.arrival_s[record.job] + record.spec.deadline_s
                    for record in records
                ]
            )
            - first_s,
            work_s=_floats(work_s),
            ideal_s=_floats(ideal_s),
        )


def _chain_s(record: JobRecord, mean_s: Floats) -> float:
    """The longest chain of stages, one task each."""
    until_s = np.zeros(len(mean_s))  # from the start of the job to the end of the stage
    waits_for = [len(stage.after) for stage in record.spec.stages]
    order = [number for number, parents in enumerate(waits_for) if not parents]
    for number in order:  # grows while it is walked
        until_s[number] += mean_s[number]
        for child in record.spec.children[number]:
            until_s[child] = max(until_s[child], until_s[number])
            waits_for[child] -= 1
            if not waits_for[child]:
                order.append(child)
    return float(until_s.max())


def _structure(records: Sequence[JobRecord]) -> tuple[DagStages, DagEdges]:
    stages = [
        (at, number, stage) for at, record in enumerate(records) for number, stage in enumerate(record.spec.stages)
    ]
    edges = [(at, parent, number) for at, number, stage in stages for parent in stage.after]
    return (
        DagStages(
            job=_ints([at for at, _, _ in stages]),
            stage=_ints([number for _, number, _ in stages]),
            name=tuple(stage.name for _, _, stage in stages),
            tasks=_ints([stage.tasks for _, _, stage in stages]),
        ),
        DagEdges(*(_ints([edge[part] for edge in edges]) for part in range(3))),
    )


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)
