"""How many tasks an executor is handed at a time: several short ones, so that the way back and forth is paid once."""

from __future__ import annotations

from dovetail.execution.controller.state import Executor, Stage

BRIEF_S = 1.0  # by the controller's clock


class Batching:
    def __init__(self, executors: int) -> None:
        self._executors = executors
        self.batch_s = 0.0  # seconds of work to hand out at a time; 0: task by task
        self.ahead = 2  # batches of short tasks at an executor

    def size(self, stage: Stage) -> int:
        """As many tasks as fill `batch_s`; fewer towards the end, so that all executors finish together."""
        if not self._are_short(stage) or (stage.again and (stage.crashes or stage.kills)):
            return 1  # after a crash, what runs again runs alone: the next one shows who is to blame
        fair = -(-stage.not_started // max(1, self.ahead * self._executors))
        fill = int(self.batch_s / max(stage.estimate.seen_s, 1e-6))
        return max(1, min(fair, fill, stage.not_started - stage.reservations))

    def has_room(self, executor: Executor, stage: Stage) -> bool:
        """Whether one more batch is to wait at the executor, so that it need not wait for us after the first.

        Of short tasks always.  Of longer ones a single task, and only while there are more left than executors: towards
        the end of a stage whoever is free first takes the next, so none should be bound to one that is late.
        """
        unclaimed = stage.not_started - stage.reservations
        if unclaimed <= 0:
            return False
        batches = len(executor.batches)
        if self._are_short(stage):
            return batches < self.ahead
        return batches <= 1 and unclaimed > self._executors and self._are_brief(stage)

    def _are_short(self, stage: Stage) -> bool:
        """Tasks that were seen to take less than a batch shall."""
        return stage.estimate.seen_s < self.batch_s and stage.spec.timeout_s is None

    def _are_brief(self, stage: Stage) -> bool:
        """Tasks for which the way to an executor and back is worth saving."""
        return self.batch_s > 0.0 and stage.estimate.seen_s < BRIEF_S and stage.spec.timeout_s is None
