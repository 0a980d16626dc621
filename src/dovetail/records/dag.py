"""One run of the dag family in full: its jobs, stages, dependencies, every task and every decision.

Numbers name things as the workload does: a job by its place in the job sequence (order of arrival), a stage
by its place in its job.  They are the lasting names of `core.dag` (`job_id`, `stage_id`), not a view's index.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from dovetail.core.dag import Bools, Floats, Ints
from dovetail.core.errors import RecordError
from dovetail.records.dag_check import check_run
from dovetail.records.manifest import SCHEMA, canonical_params, check_run_name, read_json, write_json
from dovetail.records.parquet import read_table, write_table

RUN = "run.json"


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


@dataclass(frozen=True, eq=False)
class DagRun:
    """A scheduler's run over one job sequence."""

    run: str  # its folder's name, see `run_name`
    scheduler: str
    seed: int
    executors: int
    jobs: DagJobs
    stages: DagStages
    edges: DagEdges
    tasks: DagTasks
    decisions: DagDecisions
    params: Mapping[str, Any] = field(default_factory=dict)  # what differs from the scheduler's defaults

    @property
    def end_s(self) -> float:
        """Time of the last thing that happened, from the start of the workload."""
        finished = self.jobs.finish_s[np.isfinite(self.jobs.finish_s)]
        last = (self.jobs.arrival_s, finished, self.tasks.end_s)
        return float(max(column.max(initial=0.0) for column in last))


Table = TypeVar("Table", DagJobs, DagStages, DagEdges, DagTasks, DagDecisions)


def run_name(scheduler: str, seed: int, params: Mapping[str, Any] | None = None) -> str:
    """`dag-fair-spill-s0`; parameters that differ from the defaults add a short digest of themselves."""
    name = scheduler.replace("/", "-")
    if params:
        name += "-" + hashlib.sha256(canonical_params(params).encode()).hexdigest()[:8]
    return check_run_name(f"{name}-s{seed}", "run name")


def write_run(directory: Path, run: DagRun) -> None:
    """Write the run's folder.  It is complete or absent: it takes its name only when all files are in it."""
    part = directory.with_name(f".{directory.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name in ("jobs", "stages", "edges", "tasks", "decisions"):
        table: DagJobs | DagStages | DagEdges | DagTasks | DagDecisions = getattr(run, name)
        columns = {column: getattr(table, column) for column in table.SCHEMA}
        write_table(part / f"{name}.parquet", columns, table.SCHEMA)
    facts = {"schema": SCHEMA, "family": "dag", "run": run.run, "scheduler": run.scheduler}
    more = {"params": dict(run.params), "seed": run.seed, "executors": run.executors}
    write_json(part / RUN, facts | more)
    if directory.exists():
        shutil.rmtree(directory)
    os.replace(part, directory)


def read_run(directory: Path) -> DagRun:
    """Read a run's folder and check that its tables agree with each other."""
    directory = Path(directory)
    facts = read_json(directory / RUN)
    where = directory / RUN
    if facts.get("schema") != SCHEMA:
        raise RecordError(f"{where}: schema {facts.get('schema')!r}; this version of dovetail reads {SCHEMA}")
    kinds = {"run": str, "scheduler": str, "params": dict, "seed": int, "executors": int}
    for key, kind in kinds.items():
        if not isinstance(facts.get(key), kind):
            raise RecordError(f"{where}, field {key!r}: missing or not {kind.__name__}")
    if facts["executors"] < 1:
        raise RecordError(f"{where}, field 'executors': {facts['executors']}; expected at least 1")
    run = DagRun(
        jobs=_read(directory, "jobs", DagJobs),
        stages=_read(directory, "stages", DagStages),
        edges=_read(directory, "edges", DagEdges),
        tasks=_read(directory, "tasks", DagTasks),
        decisions=_read(directory, "decisions", DagDecisions),
        **{key: facts[key] for key in kinds},
    )
    check_run(directory, run)
    return run


def _read(directory: Path, name: str, kind: type[Table]) -> Table:
    path = directory / f"{name}.parquet"
    columns = read_table(path, kind.SCHEMA)
    if kind is DagJobs:
        job = columns.pop("job")
        if not np.array_equal(job, np.arange(job.size)):
            raise RecordError(f"{path}, column 'job': expected 0, 1, 2, ... in this order")
    return kind(**{column.name: columns[column.name] for column in fields(kind)})
