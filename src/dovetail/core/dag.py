"""Batch jobs that are DAGs of stages: what a scheduler sees, and what it may say.

The view is a named tuple, not a dataclass, because one type then serves three callers: a scheduler written in
Python, a scheduler's compiled kernel (numba passes named tuples natively), and the live engine.  All arrays are
read-only slices of the world's own buffers: they are valid until the next decision and must not be kept.

Index spaces.  A *job index* j counts the jobs now in the system, in order of arrival; a *stage index* v counts all
stages of those jobs, job by job (`job_stage_ptr`).  Both are positions in this view only; `job_id` and `stage_id`
are the lasting names.  -1 is the only "none".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_EXECUTORS = 1_000_000  # of a cluster


class DagView(NamedTuple):
    """The state of the cluster at the moment some executors can be given away.

    The executors on offer all come from one *source*: idle ones (`source_stage` is -1) or those of a stage that
    has run dry, one of which is free now while the others finish their last task (`source_stage` >= 0).  They are
    local to `source_job`: giving them to another job costs the moving delay.
    """

    time_s: float
    source_job: int  # job index, -1: the offered executors belong to no job
    source_stage: int  # stage index they are leaving, -1: they are idle
    source_executors: int  # how many are on offer
    source_by_class: Ints  # (num_classes,) the same, by executor class
    # jobs in the system, by arrival
    job_id: Ints  # (J,) position of the job in the workload
    job_arrival_s: Floats  # (J,)
    job_weight: Floats  # (J,)
    job_deadline_s: Floats  # (J,) absolute, inf = none
    job_executors: Ints  # (J,) held, on their way or promised; the ones on offer are not counted
    job_unclaimed: Ints  # (J,) tasks nobody has claimed yet, over all stages; 0 = the job is saturated
    job_work_s: Floats  # (J,) estimated work of the whole job, task-seconds
    job_work_left_s: Floats  # (J,) the same for the tasks not finished yet
    job_stage_ptr: Ints  # (J + 1,) stages of job j are job_stage_ptr[j] : job_stage_ptr[j + 1]
    # stages of those jobs, finished ones included
    stage_id: Ints  # (S,) position of the stage in its job
    stage_job: Ints  # (S,) job index
    stage_tasks: Ints  # (S,) tasks in all
    stage_left: Ints  # (S,) tasks not finished
    stage_running: Ints  # (S,) tasks running now
    stage_unclaimed: Ints  # (S,) tasks neither started nor promised to an executor (never below 0)
    stage_profile: Ints  # (S,) row of `DagInfo.profiles`, -1 = nothing more is known than the mean
    stage_mean_s: Floats  # (S,) estimated duration of one task
    stage_critical_path_s: Floats  # (S,) this stage and the longest chain of stages after it, one task each
    stage_cpu: Floats  # (S,) cores one task needs
    stage_memory: Floats  # (S,) memory one task needs
    stage_ready: Bools  # (S,) all parents complete: a task could start at once
    stage_valid: Bools  # (S,) may be chosen in this decision
    # dependencies inside those jobs
    edge_parent: Ints  # (E,) stage index
    edge_child: Ints  # (E,) stage index


class Reason(IntEnum):
    """Why a decision was taken.  A code, so that compiled schedulers can give it too."""

    UNSTATED = 0
    FIRST_ARRIVED = 1
    SHORTEST_JOB = 2
    LEAST_WORK_LEFT = 3
    LONGEST_CRITICAL_PATH = 4
    BELOW_FAIR_SHARE = 5
    BELOW_WEIGHTED_SHARE = 6
    KEEP_IN_JOB = 7
    SPILL_OVER = 8
    BEST_PACKING = 9
    TROUBLESOME_FIRST = 10
    DRAWN_AT_RANDOM = 11
    LOOK_AHEAD = 12
    LEARNED = 13
    OUTSIDE_AGENT = 14
    LOOK_AHEAD_AGREES = 15
    LEAST_SERVICE = 16


REASON_TEXT: dict[Reason, str] = {
    Reason.UNSTATED: "the scheduler gave no reason",
    Reason.FIRST_ARRIVED: "the job arrived first of those with work to hand out",
    Reason.SHORTEST_JOB: "the job has the least total work",
    Reason.LEAST_WORK_LEFT: "the job has the least work left",
    Reason.LONGEST_CRITICAL_PATH: "the longest chain of stages hangs on this stage",
    Reason.BELOW_FAIR_SHARE: "the job holds fewer executors than its equal share",
    Reason.BELOW_WEIGHTED_SHARE: "the job holds fewer executors than its weighted share",
    Reason.KEEP_IN_JOB: "the executors are already with this job, so moving costs nothing",
    Reason.SPILL_OVER: "every job has its share; what is left goes to whoever can use it",
    Reason.BEST_PACKING: "its demand fits the free resources best",
    Reason.TROUBLESOME_FIRST: "the stage is long or hard to pack, so it goes first",
    Reason.DRAWN_AT_RANDOM: "drawn at random among the valid choices",
    Reason.LOOK_AHEAD: "looking ahead, this choice led to the lowest cost",
    Reason.LEARNED: "the learned policy preferred it",
    Reason.OUTSIDE_AGENT: "chosen by an agent outside",
    Reason.LOOK_AHEAD_AGREES: "looking ahead, nothing beat the base heuristic's choice",
    Reason.LEAST_SERVICE: "the job has received the least service so far",
}


class DagDecision(NamedTuple):
    """Give executors on offer to `stage`, until its job holds `limit` of them.

    The world hands over min(limit - job_executors, executors on offer, stage_unclaimed).  A limit that is not above
    what the job holds, or is above the number of executors of the cluster, or a stage that is not valid, is an
    `InvalidDecision`; so is anything but whole numbers.
    """

    stage: int  # stage index of the view
    limit: int  # executors the stage's job may hold after this decision
    executor_class: int = -1  # take this class only; -1: the smallest class that fits first
    reason: Reason = Reason.UNSTATED


@dataclass(frozen=True)
class ExecutorClass:
    """Executors of one size.  A task runs on any class with at least its CPU and memory demand."""

    count: int
    cpu: float = 1.0
    memory: float = 1.0


@dataclass(frozen=True, eq=False)
class DurationProfiles:
    """Mean task durations by kind of stage, wave and executors held: what earlier runs of the same jobs tell.

    The waves: the executor has just come to the job; it came from another stage of it; it has run this stage before.
    """

    levels: Ints  # (L,) executors the job held, ascending
    mean_s: Floats  # (P, 3, L)

    @cached_property
    def flat(self) -> tuple[Floats, Floats]:
        """(L,), (P * 3 * L,) the same as compiled code takes them."""
        return self.levels.astype(np.float64), np.ascontiguousarray(self.mean_s, np.float64).ravel()


class LookAhead(Protocol):
    """What-if questions about the present state, answered from public knowledge only (never from coming arrivals)."""

    def costs(
        self,
        view: DagView,
        candidates: Sequence[DagDecision],
        kernel: DagKernel,
        horizon_s: float = float("inf"),
    ) -> Floats:
        """Job-seconds spent until the horizon after each candidate, when `kernel` decides from then on.

        (len(candidates),); the horizon counts from now, and the end of all jobs is one in any case.
        """
        ...


@dataclass(frozen=True)
class DagInfo:
    """What a scheduler is told once, before the first view."""

    num_executors: int
    classes: tuple[ExecutorClass, ...]
    moving_delay_s: float
    look_ahead: LookAhead | None = None
    oracle: LookAhead | None = None  # as look_ahead, but it tells the future; only where that is asked for
    profiles: DurationProfiles | None = None


ANY_CLUSTER = DagInfo(1, (ExecutorClass(1, cpu=1.0, memory=1.0),), moving_delay_s=0.0)
"""For asking a scheduler for its kernel before there is a cluster."""


class DagKernel(NamedTuple):
    """A scheduler as one plain function over the view, written so that numba can compile it.

    `function(view, params, state, out) -> int` writes (stage, limit, executor class, reason) to `out` and returns 1,
    or returns 0 to leave the executors on offer idle.  It must be self-contained: no calls but numpy's and the
    built-ins' that numba knows, and functions that numba has compiled.  `state` is the scheduler's private memory,
    kept between calls.  One that makes arrays of its own says so with `allocates`; it is somewhat slower for it.
    """

    function: Callable[[DagView, Floats, Ints, Ints], int]
    params: Floats
    state: Ints
    allocates: bool = False


@runtime_checkable
class HasKernel(Protocol):
    """A scheduler that can also be run compiled.  Both ways must take the same decisions (contract test)."""

    def kernel(self) -> DagKernel | None: ...


__all__ = [
    "REASON_TEXT",
    "Bools",
    "DagDecision",
    "DagInfo",
    "DagKernel",
    "DagView",
    "DurationProfiles",
    "ExecutorClass",
    "Floats",
    "HasKernel",
    "Ints",
    "LookAhead",
    "Reason",
]
