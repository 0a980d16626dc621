"""What an event log of Spark says of one application, before anything is concluded from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.dag import Bools, Floats, Ints

NONE = -1


@dataclass(frozen=True)
class Stage:
    """A stage as the first Spark job with this number lists it; whether it ran is seen from its tasks."""

    number: int
    job: int  # the Spark job that lists it first, which is the one that runs it
    num_tasks: int
    parents: tuple[int, ...]
    name: str  # where in the program it comes from
    rdd: int  # its own, last data set: a shuffle that is read again keeps it, under a new number of the stage
    persisted: tuple[int, ...]  # data sets within it that are kept once they are computed
    operators: tuple[str, ...]  # names of what it computes, such as `Exchange`
    profile: int  # of resources


@dataclass
class SparkJob:
    """A Spark job: one action, or one shuffle of an adaptive query."""

    number: int
    submitted_ms: int
    stages: tuple[int, ...]
    execution: int  # of SQL that it belongs to
    description: str
    ended_ms: int = NONE
    succeeded: bool = False


@dataclass
class Execution:
    """One execution of SQL: a query or a command."""

    number: int
    root: int  # the one that it is part of, often itself
    description: str
    started_ms: int
    ended_ms: int = NONE
    succeeded: bool = False
    tells: bool = False  # whether it succeeded: old versions do not


@dataclass
class SparkExecutor:
    name: str
    added_ms: int
    cores: int
    removed_ms: int = NONE


@dataclass(frozen=True, eq=False)
class Tasks:
    """The N tasks that ended, however they did, by launch."""

    stage: Ints  # (N,)
    launch_ms: Ints  # (N,)
    end_ms: Ints  # (N,) when its core was free again
    executor: Ints  # (N,) position in `executor_name`
    executor_name: tuple[str, ...]
    good: Bools  # (N,) succeeded
    copy: Bools  # (N,) speculative
    result: Bools  # (N,) went to the driver, not into a shuffle
    peak_bytes: Ints  # (N,) of execution memory
    input_bytes: Ints  # (N,)
    records: Floats  # (N,) read from files and shuffles


@dataclass
class AppLog:
    """One application, or one attempt of it."""

    file: str
    name: str = ""
    identity: str = ""  # `app-20261119-0001`, with the attempt behind it if there is one
    started_ms: int = NONE
    ended_ms: int = NONE
    last_ms: int = NONE  # of all events with a time
    jobs: dict[int, SparkJob] = field(default_factory=dict)
    stages: dict[int, Stage] = field(default_factory=dict)
    executions: dict[int, Execution] = field(default_factory=dict)
    executors: dict[str, SparkExecutor] = field(default_factory=dict)
    task_cpus: dict[int, float] = field(default_factory=dict)  # by profile
    executor_memory_bytes: int = 0  # 0: unknown
    failed_stages: set[int] = field(default_factory=set)  # that were tried again, or were the end of their job
    tasks: Tasks | None = None
    odd: Counter[str] = field(default_factory=Counter)  # what was skipped, killed, tried again, ...

    def done_tasks(self) -> Tasks:
        assert self.tasks is not None, "the log was read"
        return self.tasks

    def cpus(self, profile: int) -> float:
        """Cores that each task needs."""
        return self.task_cpus.get(profile, self.task_cpus.get(0, 1.0))


class TaskRows:
    """Collects tasks one by one."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._executors: dict[str, int] = {}
        self._seen: set[int] = set()

    def is_new(self, number: int) -> bool:
        """Has no task of this number come yet?"""
        fresh = number not in self._seen
        self._seen.add(number)
        return fresh

    def add(self, executor: str, *row: int) -> None:
        """`row`: stage, launch, end, good, copy, result, peak bytes, input bytes, records."""
        self._rows.append((*row, self._executors.setdefault(executor, len(self._executors))))

    def columns(self) -> Tasks:
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 10)
        rows = rows[np.lexsort((np.arange(len(rows)), rows[:, 2], rows[:, 1]))]
        return Tasks(
            stage=rows[:, 0].copy(),
            launch_ms=rows[:, 1].copy(),
            end_ms=rows[:, 2].copy(),
            good=rows[:, 3] == 1,
            copy=rows[:, 4] == 1,
            result=rows[:, 5] == 1,
            peak_bytes=rows[:, 6].copy(),
            input_bytes=rows[:, 7].copy(),
            records=rows[:, 8].astype(np.float64),
            executor=rows[:, 9].copy(),
            executor_name=tuple(self._executors),
        )
