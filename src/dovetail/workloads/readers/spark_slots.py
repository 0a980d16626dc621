"""On which slot each task of a log ran, what that slot did before, and how many its job held.

A log names the executor of a task, not the core.  An executor of Spark has a slot for every `spark.task.cpus` of its
cores, and runs a task on each; one of ours runs one task at a time, so a slot is an executor of ours.  Tasks are given
to slots in the order of their launch: to the free slot that became free last, or to a new one while the executor has
fewer than it may have.  The driver notes the end of a task a little after the core is free, so a task may be launched
before the end of the one before it: where all slots seem to be taken, the one that is free soonest is it.  Where a log
does not say how many cores an executor has, it has as many slots as are needed.

Wave: *fresh* if the slot ran nothing before, or a task of another job of ours; *rest* if the task before was of the
same stage; *first* otherwise.  Tasks that failed, were killed or were copies keep slots busy like all others.

Executors of a job when a task is launched: the slots of all executors that the application has then, without those that
run tasks of its other jobs.  A job that is alone holds all slots, as in the measurements of Decima, whether it can use
them or not.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.dag import Ints
from dovetail.workloads.dag import FIRST, FRESH, REST
from dovetail.workloads.readers.spark_log import NONE, AppLog

UNBOUNDED = 2**31


@dataclass(frozen=True, eq=False)
class Places:
    """Where the N tasks of a log ran."""

    slot: Ints  # (N,) numbered within their executor
    wave: Ints  # (N,)
    executors: Ints  # (N,) slots that its job held when it was launched


@dataclass
class _Slots:
    """The slots of one executor; the last task of each."""

    most: int
    end_ms: list[int] = field(default_factory=list)
    unit: list[int] = field(default_factory=list)
    stage: list[int] = field(default_factory=list)

    def take(self, launch_ms: int, end_ms: int, unit: int, stage: int) -> tuple[int, int]:
        """The slot of a task, and its wave."""
        free = [slot for slot, end in enumerate(self.end_ms) if end <= launch_ms]
        if free:
            slot = max(free, key=lambda slot: (self.end_ms[slot], -slot))
        elif len(self.end_ms) < self.most:
            slot = len(self.end_ms)
            self.end_ms.append(0)
            self.unit.append(NONE - 1)
            self.stage.append(NONE)
        else:
            slot = min(range(len(self.end_ms)), key=self.end_ms.__getitem__)
        wave = FRESH if self.unit[slot] != unit else REST if self.stage[slot] == stage else FIRST
        self.end_ms[slot], self.unit[slot], self.stage[slot] = max(end_ms, self.end_ms[slot]), unit, stage
        return slot, wave


def place_tasks(app: AppLog, unit: Ints) -> Places:
    """`unit`: (N,) the job of ours that each task belongs to."""
    tasks = app.done_tasks()
    cpus = {number: app.cpus(stage.profile) for number, stage in app.stages.items()}
    slots = [_Slots(_most(app, name, cpus.values())) for name in tasks.executor_name]
    slot: Ints = np.zeros(len(unit), dtype=np.int64)
    wave: Ints = np.zeros(len(unit), dtype=np.int64)
    columns = (tasks.executor, tasks.launch_ms, tasks.end_ms, unit, tasks.stage)
    for row, (executor, launch, end, own, stage) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        slot[row], wave[row] = slots[executor].take(launch, end, own, stage)
    used = {name: len(each.end_ms) for name, each in zip(tasks.executor_name, slots, strict=True)}
    return Places(slot, wave, _held(app, unit, used))


def _most(app: AppLog, name: str, cpus: object) -> int:
    executor = app.executors.get(name)
    least = min([app.cpus(0), *cpus])  # type: ignore[misc]
    return UNBOUNDED if executor is None else max(int(executor.cores / least), 1)


def _held(app: AppLog, unit: Ints, used: dict[str, int]) -> Ints:
    """(N,) slots of the application at each launch, without those that run tasks of other jobs."""
    tasks = app.done_tasks()
    times, totals = _slots_over_time(app, used)
    held: Ints = np.ones(len(unit), dtype=np.int64)
    running: list[tuple[int, int]] = []
    busy: dict[int, int] = defaultdict(int)
    columns = (tasks.launch_ms, tasks.end_ms, unit)
    for row, (launch, end, own) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        while running and running[0][0] <= launch:
            busy[heapq.heappop(running)[1]] -= 1
        total = totals[bisect_right(times, launch) - 1] if times and launch >= times[0] else 0
        held[row] = max(total - (len(running) - busy[own]), busy[own] + 1)
        heapq.heappush(running, (end, own))
        busy[own] += 1
    return np.minimum(held, max(totals, default=1))


def _slots_over_time(app: AppLog, used: dict[str, int]) -> tuple[list[int], list[int]]:
    """Times at which the number of slots changes, and what it is from then on."""
    changes: dict[int, int] = defaultdict(int)
    tasks = app.done_tasks()
    for position, name in enumerate(tasks.executor_name):
        if name not in app.executors:
            own = tasks.executor == position
            changes[int(tasks.launch_ms[own].min())] += used[name]
            changes[int(tasks.end_ms[own].max())] -= used[name]
    for executor in app.executors.values():
        slots = max(int(executor.cores / app.cpus(0)), 1)
        changes[executor.added_ms] += slots
        if executor.removed_ms != NONE:
            changes[executor.removed_ms] -= slots
    times = sorted(changes)
    return times, np.cumsum([changes[time] for time in times]).tolist()
