"""Stopping running jobs to make room for waiting ones of smaller keys.

Waiting jobs that fit nowhere are looked at by key.  For each, running jobs of larger keys are given up, those of the
largest first, until it fits; those that turn out not to be needed stay.  The world asks once more when they have
stopped, and the order then starts those they have made room for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, Ints, Reason
from dovetail.schedulers.heuristic.gpu.order import PreemptiveOrder
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.room import TOLERANCE, Need, Room, allowed_types

MOST_TRIED = 50  # waiting jobs that victims are looked for, in one decision

NOBODY: Ints = np.zeros(0, np.int64)


def make_room(
    view: GpuView, info: GpuInfo, room: Room, order: PreemptiveOrder, place: PlacePart, waiting: Sequence[int]
) -> list[GpuDecision]:
    """Which running jobs to stop; `room` is what is free after the starts of this decision."""
    jobs = np.array(waiting, np.int64)
    keys = order.waiting_keys(view, room, jobs)
    run_keys, may_stop = order.run_keys(view), order.may_stop(view)
    victims: dict[int, float] = {}
    by_key = np.lexsort((np.arange(len(run_keys)), -run_keys)).tolist()
    for at in np.argsort(keys, kind="stable").tolist()[:MOST_TRIED]:
        job, key = int(jobs[at]), float(keys[at])
        need = Need.of(view, info, job)
        trial, given_up = room.copy(), []
        for run in by_key:
            if run_keys[run] <= key:
                break
            if run in victims or not may_stop[run]:
                continue
            release(view, info, trial, run)
            given_up.append(run)
            if _holds(trial, need):
                break
        if not _holds(trial, need):
            continue
        kept = _without_the_needless(view, info, room, need, given_up)
        for run in kept:
            release(view, info, room, run)
            victims[run] = -float(run_keys[run])
        place.gang(room, need, job)  # what it will take is no longer there for others
    return [
        GpuDecision(run, NOBODY, stops=True, reason=Reason.MAKES_ROOM, priority=priority)
        for run, priority in victims.items()
    ]


def _without_the_needless(view: GpuView, info: GpuInfo, room: Room, need: Need, given_up: list[int]) -> list[int]:
    """Those of them without which the job would not fit, the ones of the smallest keys spared first."""
    kept = list(given_up)
    for run in reversed(given_up):
        others = [one for one in kept if one != run]
        trial = room.copy()
        for one in others:
            release(view, info, trial, one)
        if _holds(trial, need):
            kept = others
    return kept


def _holds(room: Room, need: Need) -> bool:
    if room.gpus.sum() + 1e-6 < need.workers * need.gpus:
        return False
    return int(room.capacity(need).sum()) >= need.workers


def release(view: GpuView, info: GpuInfo, room: Room, run: int) -> None:
    """Give the room what a running job holds.  Which whole devices those are is not said: any that are taken whole."""
    need = Need(
        float(view.run_gpus[run]),
        float(view.run_cpus[run]),
        float(view.run_memory[run]),
        allowed_types(info, -1, int(view.run_kind[run])),
    )
    for row in np.flatnonzero(view.row_run == run).tolist():
        machine, workers, device = (int(part[row]) for part in (view.row_machine, view.row_workers, view.row_device))
        for _ in range(workers):
            if device >= 0:
                devices = [device]
            else:
                whole = taken_whole(view, room, machine)
                devices = whole[: int(need.gpus)]
            room.give_back(machine, devices, need)


def taken_whole(view: GpuView, room: Room, machine: int) -> list[int]:
    """Devices of which nothing was free and nothing is, and that nobody shares."""
    here = view.row_machine == machine
    shared = set(view.row_device[here].tolist())
    devices = range(int(room.info.machine_gpus[machine]))
    free = np.maximum(room.device[machine], view.device_free[machine])
    return [d for d in devices if free[d] <= TOLERANCE and d not in shared]
