"""A job as the engine sees it: stages, what they wait for and what they need, but no functions and no arguments.

Plain values only, checked at construction, so that whoever holds a `JobSpec` holds a valid one, wherever it came
from: the Python API, a job file, a replayed workload, or a client on the other side of a socket.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from dovetail.core.config import build, to_plain
from dovetail.core.errors import ConfigError
from dovetail.execution.errors import InvalidJob

MAX_STAGES = 10_000
MAX_TASKS = 10_000_000
MAX_NAME = 200  # characters; names are printed in tables and log lines
MAX_RETRIES = 1000
MOST = 1e9  # of any size: seconds, cores, GB


@dataclass(frozen=True)
class StageSpec:
    """Equal tasks that may run at the same time, once all stages they come after are complete."""

    name: str
    tasks: int
    after: tuple[int, ...] = ()  # positions of the parents in the job
    cpus: float = 1.0  # cores of one task
    memory_gb: float = 0.0  # limit of one task, in units of 1e9 bytes; 0: none
    retries: int = 3  # how often one task may be run again after it failed or was lost
    timeout_s: float | None = None  # of one run of one task; None: none
    expected_s: float | None = None  # what the submitter expects of one task; None: learned from the first ones
    inputs: bool = False  # the tasks are given the results of the parents
    copies: bool = True  # a task that takes far too long may be run a second time beside itself

    def __post_init__(self) -> None:
        check_name("stage", self.name)
        place = f"stage {self.name!r}"
        _check_whole(place, "tasks", self.tasks, 1, MAX_TASKS)
        _check_whole(place, "retries", self.retries, 0, MAX_RETRIES)
        _check_size(place, "cpus", self.cpus)
        _check_size(place, "memory_gb", self.memory_gb, zero=True)
        _check_size(place, "timeout_s", self.timeout_s, none=True)
        _check_size(place, "expected_s", self.expected_s, zero=True, none=True)
        if len(set(self.after)) < len(self.after):
            raise InvalidJob(f"{place}: a parent is named twice in after={list(self.after)}; expected each once")
        if self.inputs and not self.after:
            raise InvalidJob(f"{place}: inputs=True without parents; expected `after` to name where inputs come from")


@dataclass(frozen=True)
class JobSpec:
    """A graph of stages."""

    name: str
    stages: tuple[StageSpec, ...]
    weight: float = 1.0
    deadline_s: float | None = None  # from submission; None: none
    sys_path: tuple[str, ...] = ()  # folders on the engine's machines where modules of the functions may lie

    def __post_init__(self) -> None:
        check_name("job", self.name)
        place = f"job {self.name!r}"
        _check_size(place, "weight", self.weight)
        _check_size(place, "deadline_s", self.deadline_s, none=True)
        if not all(isinstance(folder, str) and folder.startswith("/") for folder in self.sys_path):
            raise InvalidJob(f"{place}: sys_path is {list(self.sys_path)}; expected absolute paths of folders")
        if not 1 <= len(self.stages) <= MAX_STAGES:
            raise InvalidJob(f"{place}: {len(self.stages):,} stages; expected 1 to {MAX_STAGES:,}")
        if self.num_tasks > MAX_TASKS:
            raise InvalidJob(
                f"{place}: {self.num_tasks:,} tasks in all stages together; expected {MAX_TASKS:,} at most: "
                "let a task do more, or submit several jobs"
            )
        _check_unique(place, [stage.name for stage in self.stages])
        for stage in self.stages:
            for parent in stage.after:
                if isinstance(parent, bool) or not isinstance(parent, int) or not 0 <= parent < len(self.stages):
                    raise InvalidJob(
                        f"{place}, stage {stage.name!r}: comes after stage number {parent!r}; "
                        f"expected positions 0 to {len(self.stages) - 1}"
                    )
        cycle = find_cycle([stage.after for stage in self.stages])
        if cycle:
            names = " -> ".join(repr(self.stages[at].name) for at in (*cycle, cycle[0]))
            raise InvalidJob(f"{place}: the stages wait for each other in a circle: {names}; expected a graph without")

    @cached_property
    def num_tasks(self) -> int:
        return sum(stage.tasks for stage in self.stages)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each stage, the positions of the stages that come directly after it."""
        below: list[list[int]] = [[] for _ in self.stages]
        for at, stage in enumerate(self.stages):
            for parent in stage.after:
                below[parent].append(at)
        return tuple(map(tuple, below))

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Where the stage of each name stands."""
        return {stage.name: at for at, stage in enumerate(self.stages)}

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is at its default is left out."""
        return {
            **_without_defaults(self, skip="stages"),
            "stages": [_without_defaults(stage) for stage in self.stages],
        }

    @classmethod
    def from_json(cls, values: object) -> JobSpec:
        """The inverse of `to_json`.  Nothing is trusted: the values may come from anywhere."""
        if not isinstance(values, Mapping):
            raise InvalidJob(f"a job is {type(values).__name__}; expected a JSON object")
        try:
            return build(cls, values, "job")
        except ConfigError as error:
            raise InvalidJob(str(error)) from error

    def dumps(self) -> str:
        return json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=False)


def find_cycle(after: Sequence[Iterable[int]]) -> list[int]:
    """Nodes of one circle, each followed by one that waits for it; empty when there is none."""
    waits = [len(tuple(parents)) for parents in after]
    children: list[list[int]] = [[] for _ in after]
    for node, parents in enumerate(after):
        for parent in parents:
            children[parent].append(node)
    ready = deque(node for node, count in enumerate(waits) if count == 0)
    while ready:
        for child in children[ready.popleft()]:
            waits[child] -= 1
            if waits[child] == 0:
                ready.append(child)
    node = next((node for node, count in enumerate(waits) if count), -1)
    if node < 0:
        return []
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:  # every node left has a parent left, so walking up must come round
        seen[node] = len(path)
        path.append(node)
        node = next(parent for parent in after[node] if waits[parent])
    return path[seen[node] :][::-1]


def _without_defaults(value: StageSpec | JobSpec, skip: str = "") -> dict[str, Any]:
    return {
        item.name: to_plain(getattr(value, item.name))
        for item in fields(value)
        if item.name != skip and getattr(value, item.name) != item.default
    }


def check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        shown = repr(name) if len(repr(name)) <= MAX_NAME else f"{repr(name)[:40]}..."
        raise InvalidJob(f"{kind} name {shown}; expected 1 to {MAX_NAME} printable characters")


def _check_unique(place: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidJob(f"{place}: two stages are named {name!r}; expected a name of its own for each")
        seen.add(name)


def _check_whole(place: str, field: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidJob(f"{place}: {field} is {value!r}; expected a whole number from {low:,} to {high:,}")


def _check_size(place: str, field: str, value: object, *, zero: bool = False, none: bool = False) -> None:
    if value is None and none:
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        raise InvalidJob(f"{place}: {field} is {value!r}; expected a finite number")
    enough = value >= 0 if zero else value > 0
    if not enough or value > MOST:
        raise InvalidJob(
            f"{place}: {field} is {value!r}; expected {'0 or more' if zero else 'more than 0'}, {MOST:g} at most"
        )
