"""Stragglers: which executors take so long that their task is worth running twice.

As in MapReduce (Dean and Ghemawat 2004), only near the end of a stage, when nothing else of it is left to start, and
only on executors that nobody wants; the first result wins and the other run is cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dovetail.core.errors import ConfigError
from dovetail.execution.controller.state import Executor, Stage


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
