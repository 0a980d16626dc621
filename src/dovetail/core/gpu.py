"""Training jobs that need all their workers at once, on machines with GPUs: what a scheduler sees and says.

A job has `workers` workers of the same demands.  It starts when all of them stand somewhere (a gang), runs as fast as
the slowest of them, and pays for its GPUs by the hour.  The world asks when something has changed and jobs wait; the
answer says which of them start now, and on which machine each worker stands.  `docs/gpu-model.md` is the specification.

A worker needs a share of one device (`gpus` below 1), whole devices (1, 2, ...), or none (0).  Which devices of the
machine it gets is the world's business.  A *job index* is a position among the waiting jobs of a view, a *run index*
one among the running ones, `job_id` and `run_id` are the lasting names.  -1 is the only "none".  Arrays of a view are
read-only and valid until the next decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol, runtime_checkable

from dovetail.core.dag import Bools, Floats, Ints

RESOURCES = ("gpus", "cpus", "memory")
"""Columns of `user_used`: devices, processors, GB."""


class GpuView(NamedTuple):
    """The queue, what is running, and what the machines have free.

    J jobs wait, R run, in P places; M machines have up to D devices, U users have sent jobs so far.
    """

    time_s: float
    # waiting jobs, by arrival
    job_id: Ints  # (J,) position of the job in the workload
    job_arrival_s: Floats  # (J,)
    job_user: Ints  # (J,)
    job_kind: Ints  # (J,) what is trained: row of `GpuInfo.kind_speed`
    job_workers: Ints  # (J,) 1 or more, all at once
    job_gpus: Floats  # (J,) of one worker: 0, a share of one device, or whole devices
    job_cpus: Floats  # (J,) of one worker
    job_memory: Floats  # (J,) GB of one worker
    job_types: Ints  # (J,) bit t: may run on GPUs of type t; -1 = on any
    job_left_s: Floats  # (J,) seconds left at speed 1, as far as is known: an estimate
    job_served_s: Floats  # (J,) GPU-seconds received so far; above 0 only for those that were stopped
    job_stops: Ints  # (J,) how often it was stopped, or lost a machine
    # running jobs, by start
    run_id: Ints  # (R,) position of the job in the workload
    run_arrival_s: Floats  # (R,)
    run_start_s: Floats  # (R,) the last time it started
    run_user: Ints  # (R,)
    run_kind: Ints  # (R,)
    run_workers: Ints  # (R,)
    run_gpus: Floats  # (R,) of one worker
    run_cpus: Floats  # (R,)
    run_memory: Floats  # (R,)
    run_types: Ints  # (R,)
    run_left_s: Floats  # (R,) seconds left at speed 1, as far as is known
    run_served_s: Floats  # (R,) GPU-seconds received so far
    run_speed: Floats  # (R,) as measured now (`GpuInfo.speed_is_measured`); 1: alone on a machine of the reference type
    # where they run: one row for each job and machine, or for each job and shared device
    row_run: Ints  # (P,) run index, non-decreasing
    row_machine: Ints  # (P,)
    row_workers: Ints  # (P,)
    row_device: Ints  # (P,) the device that is shared, -1 = whole ones, or none
    # machines
    machine_up: Bools  # (M,) those that are down have nothing free
    device_free: Floats  # (M, D) share of each device that is free; 0 for those that do not exist
    machine_gpus_free: Floats  # (M,) sum of the shares
    machine_whole_free: Ints  # (M,) devices of which nothing is taken
    machine_cpus_free: Floats  # (M,)
    machine_memory_free: Floats  # (M,)
    # users
    user_used: Floats  # (U, 3) what their running jobs hold: columns RESOURCES


class Reason(IntEnum):
    """Why a job was taken next.  Where its workers stand is the place's to say: see `GpuDecision.place`."""

    UNSTATED = 0
    FIRST_ARRIVED = 1
    SHORTEST = 2
    LEAST_LEFT = 3
    LOWEST_DOMINANT_SHARE = 4
    LEAST_SERVED = 5
    FURTHEST_BELOW_FAIR_SHARE = 6
    BEST_ALIGNED = 7
    BACKFILLED = 8
    SEARCHED = 9
    LEARNED_PRIORITY = 10
    OUTSIDE_AGENT = 11
    DRAWN_AT_RANDOM = 12
    MAKES_ROOM = 13
    SMALLEST = 14


REASON_TEXT: dict[Reason, str] = {
    Reason.UNSTATED: "the scheduler gave no reason",
    Reason.FIRST_ARRIVED: "it had waited longest of those that fit",
    Reason.SHORTEST: "it was expected to take the least time of those that fit",
    Reason.LEAST_LEFT: "it had the least work left of those that fit, its GPUs counted",
    Reason.LOWEST_DOMINANT_SHARE: "its user's dominant share of the cluster was the lowest",
    Reason.LEAST_SERVED: "it had received the least GPU time so far",
    Reason.FURTHEST_BELOW_FAIR_SHARE: "it was furthest below its fair share of speed",
    Reason.BEST_ALIGNED: "its demands matched best what was free",
    Reason.BACKFILLED: "it fills a gap without delaying the job at the head of the queue",
    Reason.SEARCHED: "the best order and places that the search found begin with it",
    Reason.LEARNED_PRIORITY: "the learned policy gave it the highest priority of those that it did not let wait",
    Reason.OUTSIDE_AGENT: "chosen by an agent outside",
    Reason.DRAWN_AT_RANDOM: "drawn at random",
    Reason.MAKES_ROOM: "it was stopped to make room for another",
    Reason.SMALLEST: "it needed the fewest GPUs of those that fit",
}


LET_WAIT_TEXT: dict[Reason, str] = {
    Reason.BACKFILLED: "it would have delayed the job at the head of the queue",
    Reason.SEARCHED: "the best order and places that the search found start it later",
    Reason.LEARNED_PRIORITY: "the learned policy judged that it had better wait",
    Reason.OUTSIDE_AGENT: "the agent outside did not choose it",
}
"""Why a job that fitted was let wait, by a reason that its scheduler starts jobs for.  All others start what fits."""


class Place(IntEnum):
    """Why its workers stand where they do."""

    UNSTATED = 0
    FIRST_FIT = 1
    BEST_FIT = 2
    MOST_FREE = 3
    FULLEST_MACHINE = 4
    LEAST_ALLOCATED = 5
    MOST_ALLOCATED = 6
    LEAST_FRAGMENTATION = 7
    CLOSE_TOGETHER = 8
    SEARCHED = 9
    LEARNED_AFFINITY = 10
    OUTSIDE_AGENT = 11
    DRAWN_AT_RANDOM = 12
    BEST_ALIGNED = 13


PLACE_TEXT: dict[Place, str] = {
    Place.UNSTATED: "the scheduler gave no reason",
    Place.FIRST_FIT: "the first machines with room",
    Place.BEST_FIT: "the machines where the least is left over",
    Place.MOST_FREE: "the machines with the most free GPUs, to balance the load",
    Place.FULLEST_MACHINE: "the machines with the fewest free GPUs, to keep others whole",
    Place.LEAST_ALLOCATED: "the machines of which the smallest part of all resources is taken",
    Place.MOST_ALLOCATED: "the machines of which the largest part of all resources is taken",
    Place.LEAST_FRAGMENTATION: "the machines where the least becomes useless for the jobs that usually come",
    Place.CLOSE_TOGETHER: "as few machines as possible, in as few racks as possible",
    Place.SEARCHED: "the best order and places that the search found",
    Place.LEARNED_AFFINITY: "the machines of highest affinity by the learned policy",
    Place.OUTSIDE_AGENT: "chosen by an agent outside",
    Place.DRAWN_AT_RANDOM: "drawn at random",
    Place.BEST_ALIGNED: "the machines whose free resources match its demands best",
}


class GpuDecision(NamedTuple):
    """A job starts now, or a running one is stopped.  Carried out in order; all decisions of an answer or none.

    `machines`: where each worker stands, a machine as often as it gets workers.  A stop (`stops`, only where the world
    allows it) names a *run index* and no machines; the job goes back to the queue with the work it has left, and the
    world asks once more at the same time.  `priority` and `affinity` explain: what the order and the place thought of
    it (nan: not said); more is better.
    """

    job: int  # job index, or run index where `stops`
    machines: Ints  # (workers,) empty where `stops`
    stops: bool = False
    reason: Reason = Reason.UNSTATED
    place: Place = Place.UNSTATED
    priority: float = float("nan")
    affinity: float = float("nan")


@dataclass(frozen=True, eq=False)
class GpuInfo:
    """What a scheduler is told once, before the first view.  T types of GPU, K kinds of training, M machines."""

    machine_name: tuple[str, ...]  # (M,)
    machine_type: Ints  # (M,)
    machine_gpus: Ints  # (M,) devices
    machine_cpus: Floats  # (M,)
    machine_memory: Floats  # (M,) GB
    machine_rack: Ints  # (M,)
    type_name: tuple[str, ...]  # (T,)
    type_price: Floats  # (T,) USD for a GPU and an hour
    kind_name: tuple[str, ...]  # (K,)
    kind_speed: Floats  # (K, T) on each type, relative to the reference; 0: cannot run there
    kind_network: Floats  # (K,) how much a job slows down when its workers are apart, see docs/gpu-model.md
    max_users: int  # users are numbered below it
    interval_s: float = 0.0  # decisions are taken at multiples of it; 0: whenever something changes
    preemption: bool = False  # running jobs may be stopped
    restart_s: float = 0.0  # what a job that was stopped loses when it starts again, in seconds at speed 1
    speed_is_measured: bool = True  # False: `run_speed` is a guess, good for when jobs end, and teaches nothing


class GpuKernel(NamedTuple):
    """A scheduler as one plain function over the view, written so that numba can compile it.

    `function(view, params, state, starts, machines, scores) -> int` returns how many jobs start, in order: `starts[i]`
    is (job index, reason, place), `scores[i]` (priority, affinity), and `machines` holds the machines of their workers
    one after another.  It must be self-contained: no calls but numpy's and the built-ins' that numba knows, and
    functions that numba has compiled.  `state` is the scheduler's private memory, kept between calls.  Unless
    `wants_running`, the running jobs and their rows are left out of its view (R = P = 0), which saves most of the time
    on large clusters.
    """

    function: Callable[[GpuView, Floats, Ints, Ints, Ints, Floats], int]
    params: Floats
    state: Ints
    wants_running: bool = False


@runtime_checkable
class HasKernel(Protocol):
    """A scheduler that can also be run compiled.  Both ways must take the same decisions (contract test)."""

    def kernel(self) -> GpuKernel | None: ...


__all__ = [
    "LET_WAIT_TEXT",
    "PLACE_TEXT",
    "REASON_TEXT",
    "RESOURCES",
    "Bools",
    "Floats",
    "GpuDecision",
    "GpuInfo",
    "GpuKernel",
    "GpuView",
    "HasKernel",
    "Ints",
    "Place",
    "Reason",
]
