"""Spark's jobs, grouped as those of the user, and what is known of their stages.

A query is one job to its user and several to Spark: with adaptive execution each of its stages is a Spark job of its
own, and stages that are still to come are not known, unless a workload tells of the kind (`known`).  Stages that it
tells of, and that Spark has not shown yet, are in the view as work to come; nothing can be given to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.execution.controller.estimates import PRIOR_WEIGHT, Estimate, Estimates
from dovetail.execution.engines.spark.known import Kind, Known
from dovetail.execution.engines.spark.messages import (
    JobEnded,
    JobStarted,
    Look,
    Names,
    StageCompleted,
    StageSubmitted,
)

MOST_DONE = 100  # completed stages that a job remembers
DOUBTS = 4  # looks

WAITS, SUBMITTED, DONE, TO_COME = "waits", "submitted", "done", "to come"


class Stage:
    """`number` is Spark's; -1 for one that Spark has not shown yet."""

    __slots__ = (
        "_doubts", "claim", "critical_path_s", "estimate", "finished", "job", "name", "number", "offered", "parents",
        "place", "promised", "rank", "row", "running", "spark_jobs", "state", "tasks", "to_launch", "was_running",
    )  # fmt: skip

    def __init__(self, job: Job, number: int, tasks: int, name: str, estimate: Estimate, state: str = WAITS) -> None:
        self.job = job
        self.number = number
        self.tasks = tasks
        self.name = name
        self.estimate = estimate
        self.state = state
        self.place = -1  # in its kind
        self.parents: list[Stage] = []
        self.spark_jobs: set[int] = set()
        self.running = 0
        self.was_running = 0  # at the look before
        self.finished = 0
        self.to_launch = tasks
        self._doubts = 0
        self.claim = 0  # slots it is to have, those that come from elsewhere included
        self.promised = 0  # of the slots it leaves, those that others are to have
        self.rank = -1
        self.offered = -1  # the version at which its slots were last on offer
        self.row = -1
        self.critical_path_s = 0.0

    @property
    def waiting(self) -> int:
        """Tasks that have not been launched."""
        return 0 if self.state == DONE else self.to_launch

    def submit(self, tasks: int) -> None:
        """For the first time, or again."""
        self.state, self.finished, self.tasks, self.to_launch = SUBMITTED, 0, tasks, tasks

    def count_waiting(self) -> None:
        """Spark takes a task that ended off those that run a moment before it is one that is finished; meanwhile it
        looks as if it had to be launched again.  That is believed when it is seen again and again."""
        waiting = max(0, self.tasks - self.finished - self.running)
        if waiting > self.to_launch and self._doubts < DOUBTS:
            self._doubts += 1
        else:
            self.to_launch, self._doubts = waiting, 0

    @property
    def is_dry(self) -> bool:
        return self.state == SUBMITTED and self.waiting == 0

    @property
    def is_done(self) -> bool:
        return self.state == DONE

    @property
    def is_ready(self) -> bool:
        if self.state == WAITS:
            return all(parent.state == DONE for parent in self.parents)
        return self.state == SUBMITTED

    @property
    def is_seen(self) -> bool:
        """Whether its mean comes from tasks of its kind that ran."""
        return self.estimate.seen_s < float("inf")


class Job:
    def __init__(self, number: int, key: str, name: str, arrival_s: float, kind: Kind | None) -> None:
        self.number = number
        self.key = key
        self.name = name
        self.arrival_s = arrival_s
        self.kind = kind
        self.stages: list[Stage] = []  # parents first
        self.to_come: list[Stage] = []  # of its kind, not shown by Spark yet
        self.spark_jobs: set[int] = set()
        self.left_s = 0.0  # when its last Spark job ended
        self.since_s = 0.0  # arrival, from the first look on
        self.row = -1

    @property
    def is_active(self) -> bool:
        """Whether there is anything to decide about."""
        return any(stage.state != DONE for stage in self.stages)


class Jobs:
    def __init__(self, grouping: str = "auto", known: Known = Known(), linger_s: float = 60.0) -> None:
        self.by_key: dict[str, Job] = {}
        self.stages: dict[int, Stage] = {}
        self.began: list[Job] = []  # since the last update
        self.over: list[Job] = []
        self._grouping = grouping
        self._known = known
        self._linger_s = linger_s
        self._estimates = Estimates()
        self._count = 0

    def active(self) -> list[Job]:
        """Jobs with work, in order of arrival."""
        return [job for job in self.by_key.values() if job.is_active]

    def update(self, look: Look) -> None:
        self.began, self.over = [], []
        for event in look.events:
            if isinstance(event, JobStarted):
                self._started(event)
            elif isinstance(event, JobEnded):
                self._ended(event)
            elif isinstance(event, StageSubmitted):
                if (stage := self.stages.get(event.stage)) is not None:
                    stage.submit(event.tasks)
            elif isinstance(event, StageCompleted):
                if (stage := self.stages.get(event.stage)) is not None:
                    stage.state = WAITS if event.failed and stage.spark_jobs else DONE
                    stage.running = 0
                    self._ended(JobEnded(look.time_s, _before(event.stage)))
            elif (stage := self.stages.get(event.stage)) is not None:
                stage.estimate.add(event.total_s, event.tasks)
        self._see_tasks(look)
        self._forget(look.time_s)

    # --- events ---

    def _started(self, event: JobStarted) -> None:
        shown = {stage.stage: stage for stage in event.stages}
        needed = [shown[number] for number in _needed(event)]
        job = self._job(event.job, event.names, event.time_s, [stage.tasks for stage in needed])
        job.spark_jobs.add(event.job)
        for one in needed:
            stage = self.stages.get(one.stage)
            if stage is None:
                stage = self._add(job, one.stage, one.tasks, one.name)
                stage.parents = [self.stages[parent] for parent in one.parents if parent in self.stages]
            stage.spark_jobs.add(event.job)
        self._tie_to_come(job)

    def _ended(self, event: JobEnded) -> None:
        for job in self.by_key.values():
            if event.job not in job.spark_jobs:
                continue
            job.spark_jobs.discard(event.job)
            job.left_s = event.time_s
            for stage in job.stages:
                stage.spark_jobs.discard(event.job)
                if not stage.spark_jobs:  # skipped, cancelled or failed
                    stage.state, stage.running = DONE, 0
            if not job.spark_jobs:
                self.over.append(job)

    def _job(self, number: int, names: Names, time_s: float, tasks: Sequence[int]) -> Job:
        key, called = _whose(self._grouping, number, names)
        job = self.by_key.get(key)
        if job is None:
            kind = self._known.kind([name for name in (names.description, names.group) if name], tasks)
            job = self.by_key[key] = Job(self._count, key, called, time_s, kind)
            self._count += 1
            self.began.append(job)
            if kind is not None:
                job.to_come = [self._stage_to_come(job, kind, place) for place in range(len(kind.stages))]
        return job

    def _stage_to_come(self, job: Job, kind: Kind, place: int) -> Stage:
        known = kind.stages[place]
        estimate = self._estimates.of(kind.name, str(place), None)
        if estimate.seen_s == float("inf"):  # the first of its kind: what the workload says counts as much as any prior
            estimate.add(PRIOR_WEIGHT * known.mean_s, int(PRIOR_WEIGHT))
            estimate = self._estimates.of(kind.name, str(place), None)
        stage = Stage(job, -1, known.tasks, known.name, estimate, TO_COME)
        stage.place = place
        return stage

    def _add(self, job: Job, number: int, tasks: int, name: str) -> Stage:
        """A stage that Spark shows; if the job's kind has one like it to come, it is that one."""
        found = next((stage for stage in job.to_come if stage.tasks == tasks), None)
        if found is not None:
            job.to_come.remove(found)
            found.number, found.state = number, WAITS
            stage = found
        else:
            estimate = self._estimates.of(job.name, f"{len(job.stages)} {name}", None)
            stage = Stage(job, number, tasks, name, estimate)
        job.stages.append(stage)
        self.stages[number] = stage
        return stage

    def _tie_to_come(self, job: Job) -> None:
        """What is to come follows what its kind says it follows."""
        if job.kind is None:
            return
        by_place = {stage.place: stage for stage in (*job.stages, *job.to_come) if stage.place >= 0}
        for stage in job.to_come:
            parents = job.kind.stages[stage.place].parents
            stage.parents = [by_place[place] for place in parents if place in by_place]

    # --- what runs ---

    def _see_tasks(self, look: Look) -> None:
        for stage in self.stages.values():
            stage.was_running, stage.running = stage.running, 0
        seen = {one.stage for one in look.task_sets}
        for one in look.task_sets:
            stage = self.stages.get(one.stage) or self._from_before(one.stage, one.names, one.tasks, look.time_s)
            if stage.state == DONE:
                continue
            if stage.state != SUBMITTED:
                stage.submit(one.tasks)
            stage.running += one.running
            stage.finished = one.finished
            stage.tasks = one.tasks
        for stage in self.stages.values():
            if stage.state == SUBMITTED and stage.number in seen:
                stage.count_waiting()

    def _from_before(self, number: int, names: Names, tasks: int, time_s: float) -> Stage:
        """It was running when we came: nothing is known of the rest of its job."""
        job = self._job(_before(number), names, time_s, [tasks])
        stage = self._add(job, number, tasks, "began before Dovetail looked")
        stage.spark_jobs.add(_before(number))
        job.spark_jobs.add(_before(number))
        return stage

    def _forget(self, time_s: float) -> None:
        """A group or a query may go on for a while after the last of its Spark jobs; a single one may not."""
        for key, job in list(self.by_key.items()):
            is_single = key.startswith("job ")
            if not job.spark_jobs and (is_single or time_s - job.left_s > self._linger_s):
                del self.by_key[key]
                for stage in job.stages:
                    self.stages.pop(stage.number, None)
                continue
            done = [stage for stage in job.stages if stage.state == DONE]
            for stage in done[: max(0, len(done) - MOST_DONE)]:
                job.stages.remove(stage)
                self.stages.pop(stage.number, None)


def _before(stage: int) -> int:
    """What stands for the Spark job of a stage that ran before we came."""
    return -1 - stage


def _whose(grouping: str, number: int, names: Names) -> tuple[str, str]:
    """Key and name of the job of ours that a Spark job is part of."""
    if names.group and grouping in ("auto", "group"):
        return f"group {names.group}", names.description or names.group
    if names.query and grouping in ("auto", "query"):
        return f"query {names.query}", names.description or "query"
    return f"job {number}", names.description or names.group or "job"


def _needed(event: JobStarted) -> list[int]:
    """Stages that will run, parents first: from the last one back to those whose outputs are there."""
    stages = {stage.stage: stage for stage in event.stages}
    followed = {parent for stage in event.stages for parent in stage.parents}
    waiting = [number for number in stages if number not in followed]
    found: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number in found or number not in stages or stages[number].is_there:
            continue
        found.add(number)
        waiting.extend(stages[number].parents)
    return sorted(found)  # Spark numbers parents before their children
