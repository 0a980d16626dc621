"""Stragglers: which executors take so long that their task is worth running twice.

As in MapReduce (Dean and Ghemawat 2004), only near the end of a stage, when nothing else of it is left to start, and
only on executors that nobody wants; the first result wins and the other run is cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dovetail.core.errors import ConfigError
from dovetail.execution.controller.manager import ResourceManager
from dovetail.execution.controller.messages import Notice
from dovetail.execution.controller.state import Executor, Job, Stage


@dataclass(frozen=True)
class CopyOptions:
    """When a task counts as a straggler."""

    look_every_s: float = 0.25
    factor: float = 3.0  # times the mean of the stage's finished tasks
    least_s: float = 0.5  # never earlier
    finished: float = 0.5  # share of the stage's tasks, without which the mean says little

    def __post_init__(self) -> None:
        if not (self.look_every_s > 0.0 and self.factor > 1.0 and self.least_s >= 0.0 and 0.0 < self.finished <= 1.0):
            raise ConfigError("copies: look_every_s above 0, factor above 1, least_s 0 or more, finished above 0 to 1")


def start_copies(job: Job, manager: ResourceManager, options: CopyOptions) -> Iterator[Notice]:
    """Run what overdue executors have to do a second time, on another node if there is one free."""
    for stage in job.stages:
        if stage.executors and stage.not_started == 0 and stage.spec.copies:
            for slow in overdue(stage, manager.now_s, options):
                helpers = [e for e in manager.free_executors() if manager.referee.fits(e.executor_class, stage)]
                if helpers:
                    task = next(iter(slow.outstanding))
                    stage.copies[task] = 2
                    manager.start_copy(min(helpers, key=lambda e: e.node == slow.node), stage, task)
                    yield Notice("copy", f"job {job.number}, stage {stage.spec.name!r}, task {task} runs twice now")


def overdue(stage: Stage, now_s: float, options: CopyOptions) -> Iterator[Executor]:
    """Executors whose batch takes too long, and of which no copy runs yet."""
    if stage.finished < options.finished * stage.tasks or not stage.estimate.count:
        return
    usual_s = stage.estimate.total_s / stage.estimate.count
    for executor in list(stage.executors):
        left = len(executor.outstanding)
        limit_s = max(options.least_s, options.factor * usual_s * left)
        late = left and not executor.cancelled and now_s - executor.started_s > limit_s
        if late and next(iter(executor.outstanding)) not in stage.copies:
            yield executor
