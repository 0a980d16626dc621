"""What the controller is told, and what it asks for.

Plain values only, so that a log of (time, event) replays a run in a unit test.  Times are seconds on one clock, which
the engine chooses; executors are numbered by the engine, and keep their number when they are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dovetail.core.dag import DagView
from dovetail.core.protocols import Scheduler
from dovetail.execution.spec import JobSpec

AnyScheduler = Scheduler[Any, DagView, Any]

FINISHED, FAILED, CANCELLED = 1, 0, 2
"""How a task ended at an executor."""

# --- events ---


class JobSubmitted(NamedTuple):
    """`finished` names the tasks, by stage, that need not run: they did before the controller was restarted."""

    job: int  # grows from submission to submission
    spec: JobSpec
    finished: Mapping[int, Sequence[int]] = {}
    more_follow: bool = False  # jobs that come together are seen together: executors are given away after the last
    profiles: Sequence[int] = ()  # by stage: rows of the duration profiles that the scheduler was told of


class JobCancelled(NamedTuple):
    job: int


class ExecutorUp(NamedTuple):
    """An executor is ready to work: a new one, or the replacement of one that was lost."""

    executor: int
    executor_class: int
    node: str


class ExecutorDown(NamedTuple):
    """An executor is gone.  Tasks that it finished before must have been told earlier."""

    executor: int
    why: str  # for people
    blameless: bool = False  # nothing that it ran is to blame: its node was lost, or we asked for it
    killed: bool = False  # by a signal that anybody may have sent


class TaskEnd(NamedTuple):
    task: int
    how: int  # FINISHED, FAILED, CANCELLED
    duration_s: float
    error: str = ""


class TasksEnded(NamedTuple):
    """Some tasks of a batch are over; the batch is, when all of them are."""

    executor: int
    batch: int
    ends: Sequence[TaskEnd]
    leaving: bool = False  # the executor is lost, and `ExecutorDown` comes next: it gets nothing more to do


class TimePassed(NamedTuple):
    """Nothing but time: sent when `Controller.next_timer_s` has come, and all that happened before was told."""


class SchedulerReplaced(NamedTuple):
    name: str
    scheduler: AnyScheduler


class Stalled(NamedTuple):
    """The engine was busy with itself since then: what it was asked to send in that time is on its way only now."""

    since_s: float


class BeliefsGiven(NamedTuple):
    """What a scheduler like the one in charge has learned in an earlier run (`core.handover.BELIEFS`)."""

    beliefs: Any  # plain values


class Held(NamedTuple):
    """What is to run from now on may have to wait: nobody's time is up meanwhile."""


class Resumed(NamedTuple):
    """All that was to run does so now, and its time begins."""


Event = (
    JobSubmitted
    | JobCancelled
    | ExecutorUp
    | ExecutorDown
    | TasksEnded
    | TimePassed
    | SchedulerReplaced
    | Stalled
    | BeliefsGiven
    | Held
    | Resumed
)

# --- instructions ---


class Run(NamedTuple):
    """Let an executor run tasks of a stage, one after the other."""

    executor: int
    batch: int
    job: int
    stage: int
    tasks: Sequence[int]
    wave: int  # fresh, first or rest: what the executor did before
    starts: int  # tasks of the stage started before, those lost included
    at_home: int  # executors of the job, this one included


class Cancel(NamedTuple):
    """Whatever the executor still has of this batch need not be done; it reports all of it as cancelled."""

    executor: int
    batch: int


class Restart(NamedTuple):
    """Kill the executor and start another in its place; `ExecutorDown` and `ExecutorUp` follow."""

    executor: int
    why: str


class JobEnded(NamedTuple):
    job: int
    state: str  # done, failed, cancelled
    error: str = ""
    stage: int = -1  # that failed
    task: int = -1
    recorded: bool = False  # the failed task left a record of its exception


class Notice(NamedTuple):
    """Something that a person may want to know."""

    kind: str  # retry, copy, timeout, lost, scheduler
    text: str


Instruction = Run | Cancel | Restart | JobEnded | Notice
