"""The things a controller keeps in mind: executors, jobs with their stages, groups of free executors, a round.

The words are those of docs/dag-model.md.  The objects remember and answer questions about themselves; what happens to
them is in `manager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import islice

from dovetail.execution.controller.estimates import Estimate
from dovetail.execution.spec import JobSpec, StageSpec

NEVER = -1
"""`offered` of what counts as not offered; versions start at 0."""


class State(Enum):
    FREE = "free"
    BUSY = "busy"
    MOVING = "moving"
    PARKED = "parked"
    AWAY = "away"


class Executor:
    __slots__ = (
        "batches", "cancelled", "doomed", "executor_class", "home", "last_stage", "node", "number", "outstanding",
        "stage", "started_s", "state", "timed_out",
    )  # fmt: skip

    def __init__(self, number: int, executor_class: int, node: str) -> None:
        self.number = number
        self.executor_class = executor_class
        self.node = node
        self.state = State.AWAY
        self.home: Job | None = None
        self.stage: Stage | None = None  # busy: what it runs; moving: where it goes; parked: what it waits for
        self.last_stage: Stage | None = None  # of the last task run since it came to its home
        self.batches: dict[int, int] = {}  # that it has, the first running, the others waiting: tasks left of each
        self.outstanding: dict[int, int] = {}  # task -> batch, in the order in which they run; all of one stage
        self.cancelled = False  # its batches are
        self.started_s = 0.0
        self.timed_out: set[int] = set()  # tasks that were given up, though nobody has stopped it yet
        self.doomed = False  # it is about to be restarted: whatever it says, it gets no more work


class Group:
    """The free executors with one home, those free longest first; `job` is None for the common group."""

    __slots__ = ("executors", "job", "offered")

    def __init__(self, job: Job | None) -> None:
        self.job = job
        self.executors: list[Executor] = []
        self.offered = NEVER


class Stage:
    """One stage: its tasks, and the executors it has, will have, or has promised to others."""

    __slots__ = (
        "again", "children", "commitments", "copies", "crashes", "critical_path_s", "done", "estimate", "executors",
        "failures", "finished", "id", "incomplete_parents", "job", "kills", "mean_s", "next_task", "not_started",
        "offered", "parents", "profile", "reservations", "row", "saturated_at_last_look", "spec", "stale", "starts",
        "tasks",
    )  # fmt: skip

    def __init__(self, job: Job, number: int, spec: StageSpec, estimate: Estimate) -> None:
        self.job = job
        self.id = number
        self.spec = spec
        self.tasks = spec.tasks
        self.row = -1  # in the arrays of the view
        self.parents: list[Stage] = []
        self.children: list[Stage] = []
        self.incomplete_parents = 0
        self.estimate = estimate
        self.mean_s = estimate.mean_s
        self.profile = -1  # row of the profiles that the scheduler knows
        self.critical_path_s = 0.0
        self.done = bytearray(spec.tasks)  # 1: finished
        self.finished = 0
        self.next_task = 0  # never started so far: this and all later ones
        self.again: deque[int] = deque()  # to be started once more
        self.not_started = spec.tasks
        self.starts = 0
        self.failures: dict[int, int] = {}  # by task
        self.crashes: dict[int, int] = {}  # executors that died of it, by task
        self.kills: dict[int, list[tuple[float, int]]] = {}  # the same, killed: after how long, as which of all
        self.copies: dict[int, int] = {}  # executors that run it now, by task, where there are two
        self.executors: dict[Executor, None] = {}  # busy here, in order
        self.commitments: list[tuple[int, Stage]] = []  # held by this stage: (executor class, target), oldest first
        self.reservations = 0
        self.saturated_at_last_look = False
        self.offered = NEVER
        self.stale = True  # the arrays of the view lag behind

    @property
    def ready(self) -> bool:
        return self.incomplete_parents == 0

    @property
    def unclaimed(self) -> int:
        return max(0, self.not_started - self.reservations)

    @property
    def saturated(self) -> bool:
        return self.not_started <= self.reservations

    @property
    def complete(self) -> bool:
        return self.finished == self.tasks

    def take(self, count: int) -> list[int]:
        """The next tasks to start, lost ones first; the caller knows that there are so many."""
        taken = [self.again.popleft() for _ in range(min(count, len(self.again)))]
        while len(taken) < count:
            while self.done[self.next_task]:  # finished before a restart, and not counted
                self.next_task += 1
            more = min(count - len(taken), self.tasks - self.next_task)
            fresh = range(self.next_task, self.next_task + more)
            taken.extend(
                fresh if not any(self.done[fresh.start : fresh.stop]) else (t for t in fresh if not self.done[t])
            )
            self.next_task += more
        self.not_started -= count
        return taken

    def put_back(self, task: int) -> None:
        """It must be started once more."""
        self.again.append(task)
        self.not_started += 1

    def promise(self, executor_class: int, target: Stage) -> None:
        """When an executor of this class leaves, it goes there."""
        self.commitments.append((executor_class, target))
        target.reservations += 1
        if target.job is not self.job:
            target.job.promised_here += 1
            self.job.promised_away += 1

    def redeem(self, executor_class: int, newest: bool = False) -> Stage | None:
        """Take back the oldest promise for this class, if there is one; its target."""
        of_class = [at for at, (promised, _) in enumerate(self.commitments) if promised == executor_class]
        if not of_class:
            return None
        _, target = self.commitments.pop(of_class[-1 if newest else 0])
        target.reservations -= 1
        if target.job is not self.job:
            target.job.promised_here -= 1
            self.job.promised_away -= 1
        return target


class Job:
    """An application master's memory: the DAG, and where its executors are."""

    __slots__ = (
        "arrival_s", "at_home", "ended", "group", "left", "moving_here", "number", "parked", "promised_away",
        "promised_here", "row", "spec", "stages",
    )  # fmt: skip

    def __init__(self, number: int, arrival_s: float, spec: JobSpec, estimates: list[Estimate]) -> None:
        self.number = number
        self.arrival_s = arrival_s
        self.spec = spec
        self.row = -1  # in the arrays of the view
        self.ended = False
        self.at_home = 0
        self.moving_here = 0
        self.promised_here = 0  # commitments to a stage of this job, held by stages of other jobs
        self.promised_away = 0
        self.parked: list[Executor] = []
        self.group = Group(self)
        self.stages = [Stage(self, n, stage, estimates[n]) for n, stage in enumerate(spec.stages)]
        for stage in self.stages:
            stage.parents = [self.stages[parent] for parent in stage.spec.after]
            stage.incomplete_parents = len(stage.parents)
            for parent in stage.parents:
                parent.children.append(stage)
        self.left = len(self.stages)  # stages that are not complete

    def resume(self, finished: Mapping[int, Sequence[int]]) -> None:
        """Some tasks, by stage, were finished before."""
        for number, tasks in finished.items():
            stage = self.stages[number]
            for task in tasks:
                stage.done[task] = 1
            stage.finished = sum(stage.done)
            stage.not_started = stage.tasks - stage.finished
        for stage in self.stages:
            if stage.complete:
                self.left -= 1
                for child in stage.children:
                    child.incomplete_parents -= 1

    def parents_first(self) -> list[Stage]:
        waiting_for = {stage: len(stage.parents) for stage in self.stages}
        order = [stage for stage in self.stages if not stage.parents]
        for stage in order:  # grows while it is walked
            for child in stage.children:
                waiting_for[child] -= 1
                if waiting_for[child] == 0:
                    order.append(child)
        return order


class Round:
    """Executors of one source on offer: a group's, or a stage's with `leaver` as its only free executor."""

    __slots__ = ("chosen", "group", "job", "leaver", "on_offer", "stage")

    def __init__(self, job: Job | None, on_offer: list[int], group: Group | None, stage: Stage | None) -> None:
        self.job = job
        self.on_offer = on_offer  # still unassigned, by class
        self.group = group
        self.stage = stage
        self.leaver: Executor | None = None  # None once it has been given away
        self.chosen: set[Stage] = set()


def first_of_class(executors: list[Executor], executor_class: int, count: int) -> list[Executor]:
    return list(islice((e for e in executors if e.executor_class == executor_class), count))
