"""What a controller is told before the first event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError
from dovetail.execution.controller.copies import CopyOptions

AT_ONCE_S = 0.25  # an executor that is killed earlier than this is killed by its task
IN_A_ROW = 3  # times as many as may crash, killed under one task and no other, are killed by it


@dataclass(frozen=True)
class ControllerOptions:
    """What the controller must know of the cluster, and how patient it is."""

    classes: tuple[ExecutorClass, ...]
    moving_delay_s: float = 0.0
    batch_s: float = 0.005  # short tasks are handed out so many seconds at a time; 0: one by one
    batches_ahead: int = 2  # of short tasks, at an executor: more where the way to it is long
    crashes: int = 4  # executors that one task may take down before its job is given up
    kills: int = 30  # the same, of executors that somebody may have killed
    grace_s: float = 1.0  # for a cancelled task to stop by itself
    copies: CopyOptions | None = field(default_factory=CopyOptions)  # None: stragglers are waited for
    fallback: str = "dag/fair-spill"  # takes over from a scheduler that fails
    seed: int = 0

    def is_too_much(self, crashes: int, kills: Sequence[tuple[float, int]]) -> bool:
        """Whether a task is given up: so many executors crashed under it, and so many were killed, each of those after
        some time and as such a one of all that were killed."""
        at_once = kills[-self.crashes :]
        in_a_row = kills[-self.crashes * IN_A_ROW :]
        return (
            crashes >= self.crashes
            or crashes + len(kills) >= max(self.crashes, self.kills)
            or (len(at_once) == self.crashes and all(lasted_s < AT_ONCE_S for lasted_s, _ in at_once))
            or (len(in_a_row) == self.crashes * IN_A_ROW and in_a_row[-1][1] - in_a_row[0][1] < len(in_a_row))
        )

    def __post_init__(self) -> None:
        if not self.classes or any(kind.count < 1 for kind in self.classes):
            raise ConfigError("a cluster needs executor classes with one executor or more each")
        if not (self.moving_delay_s >= 0.0 and self.batch_s >= 0.0 and self.grace_s > 0.0):
            raise ConfigError("moving_delay_s and batch_s must be 0 or more, grace_s above 0")
        if self.crashes < 1 or self.kills < 1:
            raise ConfigError(f"crashes is {self.crashes}, kills {self.kills}; expected 1 or more")
        if self.batches_ahead < 1:
            raise ConfigError(f"batches_ahead is {self.batches_ahead}; expected 1 or more")
