"""A Spark of values: stages on slots, in virtual time; task sets are ordered as SteeringHook.java has it done."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.protocols import Scheduler
from dovetail.execution.engines.spark.controller import SparkController
from dovetail.execution.engines.spark.known import Known
from dovetail.execution.engines.spark.messages import (
    Event,
    Instruction,
    JobEnded,
    JobStarted,
    Look,
    Names,
    Note,
    SparkOptions,
    StageCompleted,
    StageKnown,
    StageSubmitted,
    Steer,
    TasksEnded,
    TaskSet,
)
from dovetail.schedulers import SCHEDULERS

ACTING = SparkOptions(act=True)


@dataclass
class PaperStage:
    tasks: int
    task_s: float
    parents: tuple[int, ...] = ()  # positions in its job
    number: int = -1
    running: int = 0
    finished: int = 0
    is_there: bool = False

    @property
    def waiting(self) -> int:
        return self.tasks - self.running - self.finished


@dataclass
class PaperJob:
    stages: list[PaperStage]
    names: Names
    number: int = -1
    submitted: set[int] = field(default_factory=set)
    ended_s: float = -1.0


class PaperSpark:
    """`launched`: stage numbers in order of launch."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.now_s = 0.0
        self.jobs: list[PaperJob] = []
        self.launched: list[int] = []
        self.claims: dict[int, tuple[int, int]] = {}
        self.most_running: dict[int, int] = {}
        self._running: list[tuple[float, int, PaperStage]] = []
        self._events: list[Event] = []
        self._count = 0

    def submit(self, *stages: PaperStage, group: str = "", query: str = "", description: str = "") -> PaperJob:
        job = PaperJob(list(stages), Names(group, query, description), len(self.jobs))
        for stage in stages:
            stage.number, self._count = self._count, self._count + 1
        self.jobs.append(job)
        known = tuple(
            StageKnown(s.number, s.tasks, s.is_there, tuple(stages[p].number for p in s.parents), "map") for s in stages
        )
        self._events.append(JobStarted(self.now_s, job.number, job.names, known))
        self._submit_ready(job)
        return job

    def look(self) -> Look:
        events, self._events = tuple(self._events), []
        sets = tuple(
            TaskSet(stage.number, job.number, stage.running, stage.finished, stage.tasks, job.names)
            for job in self.jobs
            for stage in self._open(job)
        )
        return Look(self.now_s, self.slots, False, sets, events)

    def run(self, until_s: float) -> None:
        """Launch and end tasks; ends are told of, as Spark does, one by one."""
        self._launch()
        while self._running and self._running[0][0] <= until_s:
            self.now_s, _, stage = heapq.heappop(self._running)
            stage.running -= 1
            stage.finished += 1
            self._events.append(TasksEnded(stage.number, 1, stage.task_s))
            if stage.finished == stage.tasks:
                self._events.append(StageCompleted(stage.number, False))
                self._complete(stage)
            self._launch()
        self.now_s = max(self.now_s, until_s)

    @property
    def is_idle(self) -> bool:
        return all(job.ended_s >= 0.0 for job in self.jobs)

    def _open(self, job: PaperJob) -> list[PaperStage]:
        return [s for s in job.stages if s.number in job.submitted and s.finished < s.tasks]

    def _submit_ready(self, job: PaperJob) -> None:
        for stage in job.stages:
            ready = all(_is_done(job.stages[parent]) for parent in stage.parents)
            if stage.number not in job.submitted and ready and not stage.is_there:
                job.submitted.add(stage.number)
                self._events.append(StageSubmitted(stage.number, stage.tasks))

    def _complete(self, stage: PaperStage) -> None:
        job = next(job for job in self.jobs if stage in job.stages)
        if all(_is_done(one) for one in job.stages):
            job.ended_s = self.now_s
            self._events.append(JobEnded(self.now_s, job.number))
        else:
            self._submit_ready(job)

    def _launch(self) -> None:
        while sum(stage.running for job in self.jobs for stage in job.stages) < self.slots:
            waiting = [(job, stage) for job in self.jobs for stage in self._open(job) if stage.waiting > 0]
            if not waiting:
                return
            _, stage = min(waiting, key=lambda one: self._priority(*one))
            stage.running += 1
            self.launched.append(stage.number)
            self.most_running[stage.number] = max(self.most_running.get(stage.number, 0), stage.running)
            heapq.heappush(self._running, (self.now_s + stage.task_s, len(self.launched), stage))

    def _priority(self, job: PaperJob, stage: PaperStage) -> tuple[int, int, int]:
        if stage.number not in self.claims:
            return (0, job.number, stage.number)
        slots, rank = self.claims[stage.number]
        return (-1 if stage.running < slots else 1, rank, stage.number)


def _is_done(stage: PaperStage) -> bool:
    return stage.is_there or stage.finished == stage.tasks


def controller_of(
    scheduler: str | Scheduler[object, object, object], options: SparkOptions = ACTING, known: Known = Known()
) -> SparkController:
    made = SCHEDULERS.create(scheduler) if isinstance(scheduler, str) else scheduler
    name = scheduler if isinstance(scheduler, str) else type(scheduler).__name__
    return SparkController(
        name,
        made,
        lambda: ("dag/fair-spill", SCHEDULERS.create("dag/fair-spill")),
        lambda: np.random.default_rng(0),
        options,
        known,
    )


def steered(spark: PaperSpark, controller: SparkController, interval_s: float = 0.05) -> list[Instruction]:
    """Until all jobs have ended; everything that was asked for and said."""
    said: list[Instruction] = []
    while True:
        said += step(spark, controller)
        if spark.is_idle:
            return said
        assert spark.now_s < 10_000.0, "it hangs"
        spark.run(spark.now_s + interval_s)


def step(spark: PaperSpark, controller: SparkController) -> Sequence[Instruction]:
    instructions = controller.step(spark.look())
    for one in instructions:
        if isinstance(one, Steer):
            spark.claims = {claim.stage: (claim.slots, claim.rank) for claim in one.claims}
    return instructions


def notes(instructions: Sequence[Instruction], event: str) -> list[Note]:
    return [one for one in instructions if isinstance(one, Note) and one.event == event]
