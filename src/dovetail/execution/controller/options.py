"""What a controller is told before the first event."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError
from dovetail.execution.controller.copies import CopyOptions


@dataclass(frozen=True)
class ControllerOptions:
    """What the controller must know of the cluster, and how patient it is."""

    classes: tuple[ExecutorClass, ...]
    moving_delay_s: float = 0.0
    batch_s: float = 0.005  # short tasks are handed out so many seconds at a time; 0: one by one
    batches_ahead: int = 2  # of short tasks, at an executor: more where the way to it is long
    crashes: int = 4  # executors that one task may take down before its job is given up
    grace_s: float = 1.0  # for a cancelled task to stop by itself
    copies: CopyOptions | None = field(default_factory=CopyOptions)  # None: stragglers are waited for
    fallback: str = "dag/fair-spill"  # takes over from a scheduler that fails
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.classes or any(kind.count < 1 for kind in self.classes):
            raise ConfigError("a cluster needs executor classes with one executor or more each")
        if not (self.moving_delay_s >= 0.0 and self.batch_s >= 0.0 and self.grace_s > 0.0 and self.crashes >= 1):
            raise ConfigError("moving_delay_s and batch_s must be 0 or more, grace_s above 0, crashes 1 or more")
        if self.batches_ahead < 1:
            raise ConfigError(f"batches_ahead is {self.batches_ahead}; expected 1 or more")
