"""Which Spark jobs and stages of a log make up one job of ours, and how its stages depend on each other.

What a job is can be chosen: an execution of SQL (with all executions that are part of it; a Spark job outside of SQL is
a job of its own), a Spark job, or a whole application.  A stage that several Spark jobs list under the same number
belongs to the first of them.

`Parent IDs` give the edges.  A parent that did not run in this job is looked for in this order:
1. *Skipped, as its shuffle was there already.*  Every Spark job has new numbers for the stages it lists, so the stage
   that wrote the shuffle has another number; what stays the same is its last data set (RDD), its tasks and the
   line of the program.  The latest such stage that wrote a shuffle, and started before, takes its place.  Where it
   ran in another job of ours, the shuffle was there when this job came, and nothing is waited for.
2. *Not found* (it ran before the log begins, had no tasks, or all it computes is cached): its own parents take its
   place.

Three kinds of dependency are not in `Parent IDs`, and are seen from data sets and times:
- a stage that reads a data set which is persisted waits for the stage of the job that had it computed first;
- a Spark job of this job that came after another one had handed its result to the driver waits for it: the driver
  (a broadcast table, a sub-query, samples for a sort, the next action of a program) comes between them.  This
  says too much where a driver works with several threads: what came later by chance seems to wait;
- stages that need nothing are those that can start at once.
What goes through files from one job of ours to the next leaves no trace in a log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.core.dag import Ints
from dovetail.workloads.readers.spark_log import NONE, AppLog, SparkJob, Stage

SQL_EXECUTION, SPARK_JOB, APPLICATION = "sql-execution", "job", "application"
UNITS = (SQL_EXECUTION, SPARK_JOB, APPLICATION)


@dataclass(frozen=True)
class Unit:
    """One job of ours: stages that ran, by number, and edges between them."""

    name: str
    description: str
    arrival_ms: int
    is_complete: bool
    stages: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]  # parent, child: numbers of stages


@dataclass(frozen=True, eq=False)
class Ran:
    """When the stages of a log ran."""

    first_ms: dict[int, int]  # launch of the first task, of the stages with a task that succeeded
    last_ms: dict[int, int]  # end of the last one
    gave_result: frozenset[int]  # stages whose tasks went to the driver


def ran_stages(app: AppLog) -> Ran:
    tasks = app.done_tasks()
    good = np.flatnonzero(tasks.good)
    stages, first = np.unique(tasks.stage[good], return_index=True)
    first_ms = tasks.launch_ms[good[first]]
    last_ms: Ints = np.zeros(len(stages), dtype=np.int64)
    np.maximum.at(last_ms, np.searchsorted(stages, tasks.stage[good]), tasks.end_ms[good])
    results = np.unique(tasks.stage[good[tasks.result[good]]])
    numbers = stages.tolist()
    return Ran(
        first_ms=dict(zip(numbers, first_ms.tolist(), strict=True)),
        last_ms=dict(zip(numbers, last_ms.tolist(), strict=True)),
        gave_result=frozenset(results.tolist()),
    )


def find_units(app: AppLog, jobs_are: str) -> tuple[list[Unit], Counter[str]]:
    """The jobs of an application, complete or not, by arrival; and what was odd about them."""
    odd: Counter[str] = Counter()
    ran = ran_stages(app)
    members: dict[tuple[str, int], list[SparkJob]] = defaultdict(list)
    for job in app.jobs.values():
        members[_key(app, job, jobs_are)].append(job)
    unit_of = {job.number: key for key, jobs in members.items() for job in jobs}
    home = {number: unit_of[stage.job] for number, stage in app.stages.items()}
    stages_of: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number in sorted(ran.first_ms):
        if number in home:
            stages_of[home[number]].append(number)
    graph = _Graph(app, ran, home, odd)
    units = []
    for (kind, number), jobs in members.items():
        stages = tuple(stages_of[kind, number])
        edges = _without_detours(graph.edges(stages), graph.driver_edges(jobs, stages))
        arrival_ms, description, is_complete = _facts(app, kind, number, jobs)
        name = (
            app.identity if kind == APPLICATION else f"{app.identity}-{'sql' if kind != SPARK_JOB else kind}-{number}"
        )
        units.append(Unit(name, description, arrival_ms, is_complete, stages, tuple(sorted(edges))))
    units.sort(key=lambda unit: unit.arrival_ms)
    return units, odd


def _key(app: AppLog, job: SparkJob, jobs_are: str) -> tuple[str, int]:
    if jobs_are == APPLICATION:
        return APPLICATION, 0
    execution = app.executions.get(job.execution)
    if jobs_are == SPARK_JOB or execution is None:
        return SPARK_JOB, job.number
    return SQL_EXECUTION, execution.root if execution.root in app.executions else execution.number


def _facts(app: AppLog, kind: str, number: int, jobs: list[SparkJob]) -> tuple[int, str, bool]:
    """Arrival, description, and whether it came to its end."""
    first_ms = min(job.submitted_ms for job in jobs)
    if kind == APPLICATION:
        return (app.started_ms if app.started_ms != NONE else first_ms), app.name, app.ended_ms != NONE
    if kind == SPARK_JOB:
        return first_ms, jobs[0].description, jobs[0].succeeded
    execution = app.executions[number]
    named = jobs[0].description or execution.description
    is_complete = execution.succeeded and (execution.tells or all(job.succeeded for job in jobs))
    return min(execution.started_ms, first_ms), named, is_complete


class _Graph:
    """Edges between the stages of jobs of ours."""

    def __init__(self, app: AppLog, ran: Ran, home: dict[int, tuple[str, int]], odd: Counter[str]) -> None:
        self._app = app
        self._ran = ran
        self._home = home
        self._odd = odd

    @cached_property
    def _writers(self) -> dict[tuple[int, str, int], list[int]]:
        """Data set, line of the program and tasks -> stages that wrote it into a shuffle, by start."""
        found: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        for number in sorted(self._ran.first_ms, key=self._ran.first_ms.__getitem__):
            stage = self._app.stages.get(number)
            if stage is not None and number not in self._ran.gave_result and stage.rdd != NONE:
                found[_identity(stage)].append(number)
        return found

    @cached_property
    def _computed(self) -> dict[int, int]:
        """Persisted data set -> the stage that was first to compute it."""
        first: dict[int, int] = {}
        for number in sorted(self._ran.first_ms, key=self._ran.first_ms.__getitem__):
            for rdd in self._app.stages[number].persisted if number in self._app.stages else ():
                first.setdefault(rdd, number)
        return first

    def edges(self, stages: Iterable[int]) -> set[tuple[int, int]]:
        """Through shuffles and persisted data sets."""
        found = set()
        for child in stages:
            stage = self._app.stages[child]
            for parent in stage.parents:
                found |= {(number, child) for number in self._stand_ins(parent, child)}
            for rdd in stage.persisted:
                number = self._computed[rdd]
                is_done = self._ran.last_ms[number] <= self._ran.first_ms[child] and number != child
                if is_done and self._home[number] == self._home[child]:
                    found.add((number, child))
        return found

    def _comes_before(self, one: int, other: int) -> bool:
        return (self._ran.first_ms[one], one) < (self._ran.first_ms[other], other)

    def _stand_ins(self, parent: int, child: int) -> set[int]:
        """The stages of the child's job that the parent stands for."""
        found: set[int] = set()
        seen, left = {parent}, [parent]
        while left:
            number = left.pop()
            if number not in self._ran.first_ms:
                stage = self._app.stages.get(number)
                if stage is None:
                    self._odd["parents not in the log"] += 1
                    continue
                writer = self._writer(stage, child)
                if writer is None:
                    self._odd["bridged"] += 1
                    left += [above for above in stage.parents if above not in seen]
                    seen.update(stage.parents)
                    continue
                self._odd["skipped"] += 1
                self._odd["skipped, of earlier jobs"] += self._home[writer] != self._home[child]
                number = writer
            if self._home.get(number) == self._home[child]:
                found.add(number)
        return found

    def _writer(self, stage: Stage, child: int) -> int | None:
        """The stage that wrote the shuffle for which this one was skipped."""
        earlier = [number for number in self._writers.get(_identity(stage), ()) if self._comes_before(number, child)]
        self._odd["skipped, several candidates"] += len(earlier) > 1
        return earlier[-1] if earlier else None

    def driver_edges(self, jobs: list[SparkJob], stages: tuple[int, ...]) -> set[tuple[int, int]]:
        """From the stage whose result went to the driver to the first stages of the jobs that came after that."""
        stages_of: dict[int, list[int]] = defaultdict(list)
        for number in stages:
            stages_of[self._app.stages[number].job].append(number)
        results = {}
        for job in jobs:
            given = [number for number in stages_of[job.number] if number in self._ran.gave_result]
            if given and job.ended_ms != NONE:
                results[job.number] = given[-1]
        order = sorted(
            (max(job.ended_ms, job.submitted_ms + 1), job.submitted_ms, job.number)
            for job in jobs
            if job.number in results
        )
        ended = [end for end, _, _ in order]
        latest_start = np.maximum.accumulate([start for _, start, _ in order]) if order else np.empty(0, np.int64)
        found = set()
        for job in jobs:
            before = bisect_left(ended, job.submitted_ms + 1)
            if not before:
                continue
            cutoff = int(latest_start[before - 1])  # whatever ended before this is waited for by a later one anyway
            near = order[bisect_left(ended, cutoff + 1, 0, before) : before]
            first = [number for number in stages_of[job.number] if not self._has_parent_in(number, job)]
            found |= {(results[end[2]], number) for end in near for number in first if end[2] != job.number}
        return {(parent, child) for parent, child in found if self._comes_before(parent, child)}

    def _has_parent_in(self, number: int, job: SparkJob) -> bool:
        parents = self._app.stages[number].parents
        return any(p in self._ran.first_ms and self._app.stages[p].job == job.number for p in parents)


def _without_detours(edges: set[tuple[int, int]], driven: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All edges, but of those through the driver only the ones that others do not already say in two steps."""
    every = edges | driven
    parents: dict[int, list[int]] = defaultdict(list)
    for parent, child in every:
        parents[child].append(parent)
    said = {(one, child) for one, child in driven if any((one, between) in every for between in parents[child])}
    return edges | (driven - said)


def _identity(stage: Stage) -> tuple[int, str, int]:
    return stage.rdd, stage.name, stage.num_tasks


def unit_of_stages(app: AppLog, units: Iterable[Unit]) -> Ints:
    """(N,) for each task of the application the position of its unit, -1 for none."""
    of_stage = {stage: position for position, unit in enumerate(units) for stage in unit.stages}
    return np.array([of_stage.get(stage, NONE) for stage in app.done_tasks().stage.tolist()], dtype=np.int64)
