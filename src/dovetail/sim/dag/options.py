"""What a dag world is made of, and which faults of the published simulator it should imitate."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError


@dataclass(frozen=True)
class Compat:
    """Faults of Decima's public simulator, each off by default.  `docs/dag-model.md` says what each one does."""

    idle_until_arrival: bool = False
    inverted_levels: bool = False
    pool_forgets: bool = False
    unseeded_durations: bool = False

    @classmethod
    def all(cls) -> Compat:
        return cls(True, True, True, True)


@dataclass(frozen=True)
class DagOptions:
    """The cluster and its troubles.  With `classes`, the number of executors is theirs and `executors` is ignored."""

    executors: int = 50
    classes: tuple[ExecutorClass, ...] = ()
    moving_delay_s: float = 2.0
    warm_up_s: float = 1.0
    straggler_probability: float = 0.0
    straggler_factor: float = 1.0
    mean_time_to_failure_s: float = 0.0
    repair_s: float = 30.0
    compat: Compat = field(default_factory=Compat)

    def __post_init__(self) -> None:
        for name, low, what in (
            ("executors", 1, "at least one executor"),
            ("moving_delay_s", 0.0, "a delay of 0 s or more"),
            ("warm_up_s", 0.0, "a warm-up of 0 s or more"),
            ("straggler_factor", 1.0, "a factor of 1 or more"),
            ("mean_time_to_failure_s", 0.0, "a mean time of 0 s (never) or more"),
            ("repair_s", 0.0, "a repair time of 0 s or more"),
        ):
            value = getattr(self, name)
            if not value >= low:
                raise ConfigError(f"{name} is {value}; expected {what}")
        if not 0.0 <= self.straggler_probability <= 1.0:
            raise ConfigError(f"straggler_probability is {self.straggler_probability}; expected a share from 0 to 1")
        if self.compat.idle_until_arrival and self.mean_time_to_failure_s > 0:
            raise ConfigError(
                "compat.idle_until_arrival and failures exclude each other: the published simulator knows none, and "
                "after the last arrival a repaired executor would never work again; expected mean_time_to_failure_s = 0"
            )
        for number, kind in enumerate(self.classes):
            if kind.count < 1 or kind.cpu <= 0 or kind.memory <= 0:
                raise ConfigError(f"executor class {number} is {kind}; expected count >= 1, cpu > 0, memory > 0")

    def executor_classes(self) -> tuple[ExecutorClass, ...]:
        """The classes in force: the given ones, or a single class that fits everything."""
        return self.classes or (ExecutorClass(self.executors, cpu=float("inf"), memory=float("inf")),)
