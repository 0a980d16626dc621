"""What a dag world is made of, and which faults of the published simulator it should imitate."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.core.dag import MAX_EXECUTORS, ExecutorClass
from dovetail.core.errors import ConfigError

# Beyond these the arithmetic of times loses its meaning, or memory ends.
MAX_SECONDS = 1e9  # thirty years
MAX_FACTOR = 1e6


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
        self._check_classes()
        for name, low, high, what in (
            ("executors", 1, MAX_EXECUTORS, f"at least one executor and at most {MAX_EXECUTORS:,}"),
            ("moving_delay_s", 0.0, MAX_SECONDS, f"a delay of 0 s or more, {MAX_SECONDS:g} s at most"),
            ("warm_up_s", 0.0, MAX_SECONDS, f"a warm-up of 0 s or more, {MAX_SECONDS:g} s at most"),
            ("straggler_probability", 0.0, 1.0, "a share from 0 to 1"),
            ("straggler_factor", 1.0, MAX_FACTOR, f"a factor of 1 or more, {MAX_FACTOR:g} at most"),
            ("mean_time_to_failure_s", 0.0, MAX_SECONDS, f"a mean time of 0 s (never) to {MAX_SECONDS:g} s"),
            ("repair_s", 0.0, MAX_SECONDS, f"a repair time of 0 s or more, {MAX_SECONDS:g} s at most"),
        ):
            value = getattr(self, name)
            if not low <= value <= high:  # nan is in no range
                raise ConfigError(f"{name} is {value}; expected {what}")
        if self.compat.idle_until_arrival and self.mean_time_to_failure_s > 0:
            raise ConfigError(
                "compat.idle_until_arrival and failures exclude each other: the published simulator knows none, and "
                "after the last arrival a repaired executor would never work again; expected mean_time_to_failure_s = 0"
            )

    def _check_classes(self) -> None:
        for number, kind in enumerate(self.classes):
            if not (kind.count >= 1 and kind.cpu > 0 and kind.memory > 0):
                raise ConfigError(f"executor class {number} is {kind}; expected count >= 1, cpu > 0, memory > 0")
        count = sum(kind.count for kind in self.classes)
        if count > MAX_EXECUTORS:
            raise ConfigError(f"the executor classes have {count:,} executors; expected {MAX_EXECUTORS:,} at most")

    def executor_classes(self) -> tuple[ExecutorClass, ...]:
        """The classes in force: the given ones, or a single class that fits everything."""
        return self.classes or (ExecutorClass(self.executors, cpu=float("inf"), memory=float("inf")),)
