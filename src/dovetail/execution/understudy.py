"""A scheduler that is to take over learns its part first, away from the stage: one that is compiled on its first
decision, or loads a network for it, would otherwise keep everybody waiting.

It plays a few small jobs through a controller of its own, as large as the real one.
"""

from __future__ import annotations

from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.messages import (
    FINISHED,
    AnyScheduler,
    Event,
    ExecutorUp,
    Instruction,
    JobSubmitted,
    Run,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.schedulers import SCHEDULERS

JOBS = 3
MOST_RUNS = 100


def rehearsed(name: str, options: ControllerOptions) -> AnyScheduler:
    """A scheduler that has decided nothing, but whose like has: whatever that needs is loaded and compiled."""
    _Rehearsal(name, SCHEDULERS.create(name), options).play()
    scheduler: AnyScheduler = SCHEDULERS.create(name)
    return scheduler


class _Rehearsal:
    def __init__(self, name: str, scheduler: AnyScheduler, options: ControllerOptions) -> None:
        self._controller = Controller(options, name, scheduler, lambda: SCHEDULERS.create(options.fallback))
        self._classes = options.classes
        self._now_s = 0.0
        self._runs: list[Run] = []

    def play(self) -> None:
        executors = [c for c, kind in enumerate(self._classes) for _ in range(min(kind.count, MOST_RUNS))]
        for number, executor_class in enumerate(executors):
            self._tell(ExecutorUp(number, executor_class, "rehearsal"))
        cpus = min(kind.cpu for kind in self._classes)
        stages = (StageSpec("a", 3, cpus=cpus), StageSpec("b", 2, cpus=cpus), StageSpec("c", 2, (0, 1), cpus))
        for job in range(JOBS):
            self._tell(JobSubmitted(job, JobSpec("rehearsal", stages)))
        for _ in range(MOST_RUNS):
            if not self._runs:
                return
            run = self._runs.pop(0)
            self._now_s += 1.0
            ends = [TaskEnd(task, FINISHED, 1.0) for task in run.tasks]
            self._tell(TasksEnded(run.executor, run.batch, ends))

    def _tell(self, event: Event) -> None:
        self._note(self._controller.handle(event, self._now_s))
        while self._controller.next_timer_s() <= self._now_s:
            self._note(self._controller.handle(TimePassed(), self._now_s))

    def _note(self, instructions: list[Instruction]) -> None:
        self._runs += [one for one in instructions if isinstance(one, Run)]
