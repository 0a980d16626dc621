"""Runs of jobs seen in Spark event logs, each with its stages in an order that another run of the same job has, too.

Numbers of stages differ from run to run, and so does the order in which independent stages start.  A stage is therefore
known by a *mark*: what it computes, how many tasks it has, and the marks of its parents.  Stages are ordered by depth,
mark, records read, and number.  Two runs with the same marks have the same *shape*.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.workloads.dag import WAVES
from dovetail.workloads.readers.spark_log import AppLog
from dovetail.workloads.readers.spark_slots import Places, place_tasks
from dovetail.workloads.readers.spark_units import Unit, unit_of_stages


@dataclass(frozen=True, eq=False)
class StageRun:
    """What was measured of a stage."""

    number: int
    tasks: int
    cpu: float
    memory_bytes: int  # largest peak of a task
    seconds: dict[tuple[int, int], Floats]  # (wave, executors) -> durations, in order of launch


@dataclass(frozen=True, eq=False)
class Run:
    """A job that came to its end."""

    name: str
    description: str
    arrival_ms: int
    stages: tuple[StageRun, ...]
    edges: tuple[tuple[int, int], ...]  # positions in `stages`
    shape: str
    slot_memory_bytes: float  # 0: unknown


def measure_runs(app: AppLog, units: list[Unit], odd: Counter[str]) -> list[Run]:
    """The complete jobs of an application, with the durations of their tasks."""
    unit_of_task = unit_of_stages(app, units)
    odd["orphans"] += int((unit_of_task < 0).sum())
    places = place_tasks(app, unit_of_task)
    rows = _rows_by_stage(app)
    runs = []
    for unit in units:
        if not unit.is_complete:
            odd["incomplete"] += 1
        elif not unit.stages:
            odd["without tasks"] += 1
        else:
            runs.append(_run(app, unit, places, rows, odd))
    return runs


def _rows_by_stage(app: AppLog) -> dict[int, Ints]:
    """Stage -> rows of its tasks that succeeded, by launch."""
    tasks = app.done_tasks()
    good = np.flatnonzero(tasks.good)
    good = good[np.argsort(tasks.stage[good], kind="stable")]
    stages, first = np.unique(tasks.stage[good], return_index=True)
    blocks = np.split(good, first[1:]) if stages.size else []
    return dict(zip(stages.tolist(), blocks, strict=True))


def _run(app: AppLog, unit: Unit, places: Places, rows: dict[int, Ints], odd: Counter[str]) -> Run:
    parents: dict[int, list[int]] = defaultdict(list)
    for parent, child in unit.edges:
        parents[child].append(parent)
    tasks = app.done_tasks()
    keys: dict[int, tuple[int, str, float, int]] = {}
    for number in _parents_first(unit, parents):
        above = [keys[parent] for parent in parents[number]]
        depth = 1 + max((key[0] for key in above), default=-1)
        words = (app.stages[number].operators, app.stages[number].num_tasks, sorted(key[1] for key in above))
        mark = hashlib.sha1(repr(words).encode(), usedforsecurity=False).hexdigest()
        keys[number] = (depth, mark, float(tasks.records[rows[number]].sum()), number)
    order = sorted(unit.stages, key=keys.__getitem__)
    place = {number: position for position, number in enumerate(order)}
    slots = [executor.cores / app.cpus(0) for executor in app.executors.values()]
    return Run(
        name=unit.name,
        description=unit.description,
        arrival_ms=unit.arrival_ms,
        stages=tuple(_stage_run(app, number, rows[number], places, odd) for number in order),
        edges=tuple(sorted((place[parent], place[child]) for parent, child in unit.edges)),
        shape=hashlib.sha1("".join(keys[n][1] for n in order).encode(), usedforsecurity=False).hexdigest(),
        slot_memory_bytes=app.executor_memory_bytes / max(1.0, *slots) if slots else 0.0,
    )


def _parents_first(unit: Unit, parents: dict[int, list[int]]) -> list[int]:
    """Stages in an order in which parents come first; the graph was checked to have no cycle."""
    order: list[int] = []
    done: set[int] = set()
    stack = list(reversed(unit.stages))
    while stack:
        open_ones = [parent for parent in parents[stack[-1]] if parent not in done]
        if open_ones:
            stack += open_ones
            continue
        number = stack.pop()
        if number not in done:
            done.add(number)
            order.append(number)
    return order


def _stage_run(app: AppLog, number: int, rows: Ints, places: Places, odd: Counter[str]) -> StageRun:
    tasks, stage = app.done_tasks(), app.stages[number]
    count = min(len(rows), stage.num_tasks) if stage.num_tasks > 0 else len(rows)
    odd["unfinished stages"] += count < stage.num_tasks
    odd["tasks"] += count
    odd["input bytes"] += int(tasks.input_bytes[rows].sum())
    peak = int(tasks.peak_bytes[rows].max())
    originals = rows[~tasks.copy[rows]]
    rows = originals if originals.size else rows
    seconds = (tasks.end_ms[rows] - tasks.launch_ms[rows]) / 1000.0
    group = places.executors[rows] * len(WAVES) + places.wave[rows]
    groups = {(int(code) % len(WAVES), int(code) // len(WAVES)): seconds[group == code] for code in np.unique(group)}
    return StageRun(number, count, app.cpus(stage.profile), peak, groups)
