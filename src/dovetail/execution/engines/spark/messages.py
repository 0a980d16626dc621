"""What the controller of a Spark application is told, and what it asks for.  Times are seconds since 1970."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.core.errors import ConfigError

GROUPINGS = ("auto", "group", "query", "job")
EVERY = ("stage", "task")


@dataclass(frozen=True)
class SparkOptions:
    """`jobs`: which of Spark's jobs make one of ours.  `every`: when slots are offered, see docs/spark-live.md."""

    act: bool = False  # or only say what would be done
    jobs: str = "auto"  # group: spark.jobGroup.id; query: SQL execution; job: each by itself; auto: the first there is
    every: str = "stage"  # stage: when it has no task left to launch, as in the simulator; task: at any change
    interval_s: float = 0.05  # between two looks, if nothing happens
    lease_s: float = 5.0  # without a look for so long, Spark's side gives everything back by itself
    linger_s: float = 60.0  # a group without Spark jobs is remembered for so long
    executors: tuple[int, int] | None = None  # least and most to ask the cluster for; None: as they are
    idle_s: float = 10.0  # an executor that nobody wants is given back after so long

    def __post_init__(self) -> None:
        for name, value, known in (("jobs", self.jobs, GROUPINGS), ("every", self.every, EVERY)):
            if value not in known:
                raise ConfigError(f"{name} is {value!r}; expected one of {', '.join(known)}")
        for name, seconds, least, most in (
            ("interval_s", self.interval_s, 0.001, 10.0),
            ("lease_s", self.lease_s, 1.0, 600.0),
            ("linger_s", self.linger_s, 0.0, 86_400.0),
            ("idle_s", self.idle_s, 0.0, 86_400.0),
        ):
            if not (math.isfinite(seconds) and least <= seconds <= most):
                raise ConfigError(f"{name} is {seconds:g}; expected {least:g} to {most:g} seconds")
        if self.lease_s < 5 * self.interval_s:
            raise ConfigError(f"lease_s is {self.lease_s:g}; expected at least five times interval_s")
        if self.executors is not None and not 1 <= self.executors[0] <= self.executors[1]:
            raise ConfigError(f"executors is {self.executors}; expected (least, most) with 1 <= least <= most")


# --- what happened ---


class Names(NamedTuple):
    """What tells whose a Spark job is; empty where it is not set."""

    group: str
    query: str  # SQL execution
    description: str


class StageKnown(NamedTuple):
    """A stage of a job that has begun."""

    stage: int
    tasks: int
    is_there: bool  # its outputs are there already, so it will be skipped
    parents: tuple[int, ...]
    name: str


class JobStarted(NamedTuple):
    time_s: float
    job: int
    names: Names
    stages: tuple[StageKnown, ...]


class JobEnded(NamedTuple):
    time_s: float
    job: int


class StageSubmitted(NamedTuple):
    stage: int
    tasks: int


class StageCompleted(NamedTuple):
    stage: int
    failed: bool


class TasksEnded(NamedTuple):
    """Tasks of a stage that ended well since the last look."""

    stage: int
    tasks: int
    total_s: float


class TaskSet(NamedTuple):
    """A stage's tasks as the task scheduler has them now."""

    stage: int
    priority: int
    running: int
    finished: int
    tasks: int
    names: Names


class Executors(NamedTuple):
    """What the cluster manager gave us: (name, tasks running there); empty where there are none to ask for."""

    cores_each: int
    running: tuple[tuple[str, int], ...]


Event = JobStarted | JobEnded | StageSubmitted | StageCompleted | TasksEnded


class Look(NamedTuple):
    """The application as it was seen."""

    time_s: float
    slots: int  # tasks that can run at once
    expired: bool  # nobody looked for too long, and everything was given back
    task_sets: tuple[TaskSet, ...]
    events: tuple[Event, ...]
    executors: Executors | None = None


# --- instructions ---


class Claim(NamedTuple):
    """Below so many running tasks the stage goes before those that have theirs; the smallest rank first."""

    stage: int
    slots: int
    rank: int


class Steer(NamedTuple):
    """All claims there are; what is not named is Spark's."""

    claims: tuple[Claim, ...]


class Resize(NamedTuple):
    """Ask the cluster manager for so many executors in all, and give these back."""

    total: int
    kill: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    """Something to be said and recorded."""

    event: str  # one word, such as job, decided, quiet
    text: str
    job: int = -1
    facts: Mapping[str, Any] = field(default_factory=dict)


Instruction = Steer | Resize | Note
