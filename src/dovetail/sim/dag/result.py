"""What a dag run came to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats
from dovetail.sim.kernels.dag_state import DagOne, DagRecords, Records
from dovetail.workloads.dag import DagWorkload


@dataclass(frozen=True, eq=False)
class DagResult:
    """Finish times, costs, counts; and, if recorded, every task and decision in order."""

    workload: DagWorkload
    num_executors: int
    end_s: float
    finish_s: Floats  # (J,) NaN for jobs not complete
    costs: dict[str, float]  # integrals over the run, see `docs/dag-model.md`
    busy_s: float  # executor-seconds spent on tasks, lost ones included
    events: int
    decisions: int
    tasks: Records  # (T,) in order of their end: executor, job, stage, wave, lost, start_s, end_s
    decision_log: Records  # (K,) in order: source_job, source_stage, on_offer, job, stage, limit, given, ...

    @property
    def completion_s(self) -> Floats:
        """(J,) completion time of each job, from arrival to finish."""
        return self.finish_s - self.workload.arrival_s

    @property
    def avg_jct_s(self) -> float:
        return float(np.mean(self.completion_s))

    @property
    def last_finish_s(self) -> float:
        return float(np.max(self.finish_s))

    @classmethod
    def of(cls, workload: DagWorkload, one: DagOne, records: DagRecords) -> DagResult:
        """Read off a world."""
        world = one.world[0]
        now = float(world["now"])
        finish = one.jobs["finish_s"][: len(workload.job_dag)].copy()
        active = np.isnan(finish) & (workload.arrival_s <= now)
        due = np.maximum(workload.deadline_s, workload.arrival_s)[active]
        late = float(world["cost_late"] + np.maximum(0.0, now - due).sum())
        costs = {name: float(world[f"cost_{name}"]) for name in ("time", "jobs", "weight", "executors")}
        return cls(
            workload=workload,
            num_executors=len(one.executors),
            end_s=now,
            finish_s=finish,
            costs={**costs, "late": late},
            busy_s=float(world["busy_s"]),
            events=int(world["events"]),
            decisions=int(world["decisions"]),
            tasks=records.tasks[: int(world["task_records"])].copy(),
            decision_log=records.decisions[: int(world["decision_records"])].copy(),
        )
