"""What the controller of a Flink job is told, and what it asks for.  Times are seconds since 1970."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.flink.job import FlinkJob
from dovetail.execution.engines.flink.metrics import Reading
from dovetail.execution.engines.flink.rescales import Rescale

LATENCIES = ("auto", "markers", "queues")


@dataclass(frozen=True)
class Bound:
    """How many instances the operators that answer to a name may have."""

    name: str  # of a vertex, its id, or a part of its name that no other has; empty: all that are not named
    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class FlinkOptions:
    """How a job is looked at and what may be done to it."""

    act: bool = False  # or only say what would be done
    interval_s: float = 60.0  # between two decisions
    snapshot_s: float = 10.0  # between two looks
    history: int = 60  # snapshots that a scheduler sees
    slo_s: float = 5.0
    weight: float = 0.7  # of latency in the reward
    restart_s: float | None = None  # how long a rescale is thought to take, until one was measured
    instances: int | None = None  # of all operators together, at most
    bounds: tuple[Bound, ...] = ()
    cooldown_s: float = 300.0
    most_per_hour: int = 6
    rollback_factor: float = 2.0  # latency so many times as long as before is worse; inf: nothing is rolled back
    rollback_s: float | None = None  # how long after a rescale that is judged; None: an interval
    missing: int = 3  # snapshots in a row without metrics of an operator: the fallback decides
    patience_s: float = 120.0  # for a rescale to be carried out
    latency: str = "auto"

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("snapshot", self.snapshot_s, 0.5, 3600.0),
            ("interval", self.interval_s, 0.5, 86_400.0),
            ("history", self.history, 2, 10_000),
            ("slo", self.slo_s, 0.001, 1e6),
            ("weight", self.weight, 0.0, 1.0),
            ("restart", self.restart_s, 0.0, 3600.0),
            ("instances", self.instances, 1, 10**6),
            ("cooldown", self.cooldown_s, 0.0, 86_400.0),
            ("max-rescales", self.most_per_hour, 0, 3600),
            ("rollback-after", self.rollback_s, 0.5, 86_400.0),
            ("missing", self.missing, 1, 10_000),
            ("patience", self.patience_s, 1.0, 86_400.0),
        ):
            if value is not None and not least <= value <= most:
                raise ConfigError(f"--{name} {value:g}; expected {least:g} to {most:g}")
        if not self.rollback_factor > 1.0:
            raise ConfigError(f"--rollback {self.rollback_factor:g}; expected more than 1, or `off`")
        times = self.interval_s / self.snapshot_s
        if times < 1.0 or abs(times - round(times)) > 1e-6:
            raise ConfigError(
                f"--interval {self.interval_s:g} and --snapshot {self.snapshot_s:g}; expected an interval of whole "
                "snapshots, such as 60 and 10"
            )
        if self.latency not in LATENCIES:
            raise ConfigError(f"--latency {self.latency}; expected one of {', '.join(LATENCIES)}")


@dataclass(frozen=True)
class Look:
    """A job as it was seen; `running_since_s` is nan while one of its subtasks does not run."""

    now_s: float
    clock_s: float  # since Monday, 0:00
    job: FlinkJob
    readings: Mapping[str, Reading]  # by vertex
    slots: int  # of the cluster
    free_slots: int
    running_since_s: float = math.nan
    rescale: Rescale | None = None  # the newest of Flink's history


class Glance(NamedTuple):
    """Between two looks: only what its timeline says."""

    now_s: float
    state: str
    stopped_s: float  # when it began to be taken down; 0: it was not


# --- instructions ---


class Ask(NamedTuple):
    """Every vertex is to have so many instances."""

    wanted: Mapping[str, int]


@dataclass(frozen=True)
class Note:
    """Something to be said and recorded."""

    event: str  # one word, such as decided, rescaled, held
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Instruction = Ask | Note
