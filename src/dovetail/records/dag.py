"""One run of the dag family in full: its jobs, stages, dependencies, every task and every decision.

Numbers name things as the workload does: a job by its place in the job sequence (order of arrival), a stage
by its place in its job.  They are the lasting names of `core.dag` (`job_id`, `stage_id`), not a view's index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dovetail.core.dag import REASON_TEXT, Bools, Floats, Ints, Reason
from dovetail.records.dag_check import check_run
from dovetail.records.run import Run


@dataclass(frozen=True, eq=False)
class DagJobs:
    """The jobs; row j is job j."""

    SCHEMA: ClassVar = {
        "job": "int32",
        "name": "string",
        "dag": "string",
        "arrival_s": "float64",
        "finish_s": "float64",
        "weight": "float64",
        "deadline_s": "float64",
        "work_s": "float64",
        "ideal_s": "float64",
    }
    INDEX: ClassVar = "job"

    name: tuple[str, ...]  # (J,)
    dag: tuple[str, ...]  # (J,) kind of job
    arrival_s: Floats  # (J,)
    finish_s: Floats  # (J,) inf = not finished when the run ended
    weight: Floats  # (J,)
    deadline_s: Floats  # (J,) absolute, inf = none
    work_s: Floats  # (J,) estimated work, task-seconds
    ideal_s: Floats  # (J,) least time alone on the cluster, by mean durations

    def __len__(self) -> int:
        return len(self.name)

    @property
    def job(self) -> Ints:
        return np.arange(len(self.name))


@dataclass(frozen=True, eq=False)
class DagStages:
    """The stages of all jobs, job by job."""

    SCHEMA: ClassVar = {"job": "int32", "stage": "int32", "name": "string", "tasks": "int32"}
    INDEX: ClassVar = None

    job: Ints  # (S,)
    stage: Ints  # (S,) 0, 1, ... within its job
    name: tuple[str, ...]  # (S,)
    tasks: Ints  # (S,)

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, eq=False)
class DagEdges:
    """Which stage of a job waits for which."""

    SCHEMA: ClassVar = {"job": "int32", "parent": "int32", "child": "int32"}
    INDEX: ClassVar = None

    job: Ints  # (E,)
    parent: Ints  # (E,) stage within the job
    child: Ints  # (E,) stage within the job

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True, eq=False)
class DagTasks:
    """Every task that was started, in order of start (lost ones too: they appear again when repeated)."""

    SCHEMA: ClassVar = {
        "executor": "int32",
        "job": "int32",
        "stage": "int32",
        "wave": "int8",
        "lost": "bool",
        "start_s": "float64",
        "end_s": "float64",
    }
    INDEX: ClassVar = None

    executor: Ints  # (N,)
    job: Ints  # (N,)
    stage: Ints  # (N,) within its job
    wave: Ints  # (N,) 0 fresh, 1 first, 2 rest, -1 not known
    lost: Bools  # (N,) cut short by a failure
    start_s: Floats  # (N,)
    end_s: Floats  # (N,)

    def __len__(self) -> int:
        return len(self.executor)


@dataclass(frozen=True, eq=False)
class DagDecisions:
    """Every decision, in the order taken.  `job` is -1 where the scheduler declined the offer."""

    SCHEMA: ClassVar = {
        "time_s": "float64",
        "source_job": "int32",
        "source_stage": "int32",
        "on_offer": "int32",
        "job": "int32",
        "stage": "int32",
        "limit": "int32",
        "given": "int32",
        "executor_class": "int32",
        "reason": "int32",
    }
    INDEX: ClassVar = None

    time_s: Floats  # (D,)
    source_job: Ints  # (D,) job the executors on offer belonged to, -1 none
    source_stage: Ints  # (D,) stage they were leaving, -1 idle
    on_offer: Ints  # (D,) executors on offer before the decision
    job: Ints  # (D,) chosen job, -1 declined
    stage: Ints  # (D,) chosen stage within its job, -1 declined
    limit: Ints  # (D,) executors the job may hold
    given: Ints  # (D,) executors handed over
    executor_class: Ints  # (D,) class asked for, -1 any
    reason: Ints  # (D,) code of core.dag.Reason

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, eq=False, kw_only=True)
class DagRun(Run):
    """A scheduler's run over one job sequence."""

    FAMILY = "dag"
    TABLES: ClassVar = {
        "jobs": DagJobs,
        "stages": DagStages,
        "edges": DagEdges,
        "tasks": DagTasks,
        "decisions": DagDecisions,
    }
    FACTS: ClassVar = {"executors": int}

    executors: int
    jobs: DagJobs
    stages: DagStages
    edges: DagEdges
    tasks: DagTasks
    decisions: DagDecisions

    @property
    def job_names(self) -> tuple[str, ...]:
        return self.jobs.name

    @property
    def end_s(self) -> float:
        """Time of the last thing that happened, from the start of the workload."""
        finished = self.jobs.finish_s[np.isfinite(self.jobs.finish_s)]
        last = (self.jobs.arrival_s, finished, self.tasks.end_s)
        return float(max(column.max(initial=0.0) for column in last))

    def check(self, directory: Path) -> None:
        check_run(directory, self)

    @property
    def trace_threads(self) -> int:
        """Arrivals and completions, decisions, then the executors."""
        return self.executors + 2

    def trace(self, label: str, process: int, first_thread: int) -> Iterator[str]:
        from dovetail.records.perfetto_dag import run_events

        return run_events(label, self, process, first_thread)


def reason_text(code: int) -> str:
    """The text of a reason; a code from a later version is shown as it is."""
    try:
        return REASON_TEXT[Reason(code)]
    except (ValueError, KeyError):
        return f"reason {code}"
