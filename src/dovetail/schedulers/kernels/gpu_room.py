"""What the machines have free while jobs are being placed on them, compiled: the twin of `heuristic/gpu/room`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Bools, Floats, Ints
from dovetail.schedulers.kernels.jit import bare, kernel

TOLERANCE = 1e-9
MOST_FAILURES = 32  # demands that are remembered not to have fitted


class Room(NamedTuple):
    """Free resources are written to.  `has_*` is what each machine has."""

    up: Bools  # (M,)
    device: Floats  # (M, D)
    gpus: Floats  # (M,)
    whole: Ints  # (M,)
    cpus: Floats  # (M,)
    memory: Floats  # (M,)
    type: Ints  # (M,)
    rack: Ints  # (M,)
    has_gpus: Floats  # (M,)
    has_cpus: Floats  # (M,)
    has_memory: Floats  # (M,)


class Need(NamedTuple):
    """What one worker of a job needs."""

    gpus: float
    cpus: float
    memory: float
    types: int  # mask of those it may run on, its kind considered
    workers: int
    kind: int


class Undo(NamedTuple):
    """What machines had before workers of a gang were put on them, worker by worker, and the devices they got."""

    machine: Ints  # (W,)
    before: Floats  # (W, 4 + D) gpus, whole, cpus, memory, devices
    devices: Ints  # (W,) a bit for each


class Failures(NamedTuple):
    """Demands that did not fit; what needs as much or more of everything does not fit either."""

    demand: Floats  # (MOST_FAILURES, 4) gpus, cpus, memory, workers
    types: Ints  # (MOST_FAILURES,)
    count: Ints  # (1,)


@kernel
def no_undo(workers, devices):
    return Undo(np.empty(workers, np.int64), np.empty((workers, 4 + devices), np.float64), np.empty(workers, np.int64))


@kernel
def no_failures():
    return Failures(np.empty((MOST_FAILURES, 4), np.float64), np.empty(MOST_FAILURES, np.int64), np.zeros(1, np.int64))


@bare
def is_known_to_fail(failures, need):
    for i in range(failures.count[0]):
        if (
            need.gpus >= failures.demand[i, 0]
            and need.cpus >= failures.demand[i, 1]
            and need.memory >= failures.demand[i, 2]
            and need.workers >= failures.demand[i, 3]
            and need.types & ~failures.types[i] == 0
        ):
            return True
    return False


@bare
def remember_failure(failures, need):
    """Failures that this one covers make place for it; beyond the limit it is not remembered."""
    kept = 0
    for i in range(failures.count[0]):
        covered = (
            need.gpus <= failures.demand[i, 0]
            and need.cpus <= failures.demand[i, 1]
            and need.memory <= failures.demand[i, 2]
            and need.workers <= failures.demand[i, 3]
            and failures.types[i] & ~need.types == 0
        )
        if not covered:
            for part in range(4):
                failures.demand[kept, part] = failures.demand[i, part]
            failures.types[kept] = failures.types[i]
            kept += 1
    if kept < MOST_FAILURES:
        failures.demand[kept, 0] = need.gpus
        failures.demand[kept, 1] = need.cpus
        failures.demand[kept, 2] = need.memory
        failures.demand[kept, 3] = need.workers
        failures.types[kept] = need.types
        kept += 1
    failures.count[0] = kept


@bare
def fits(room, m, need):
    if room.cpus[m] + TOLERANCE < need.cpus or room.memory[m] + TOLERANCE < need.memory:
        return False
    if need.gpus >= 1.0:
        if room.whole[m] < need.gpus:
            return False
    elif need.gpus > 0.0 and room.whole[m] == 0:
        found = False
        for d in range(room.device.shape[1]):
            if room.device[m, d] + TOLERANCE >= need.gpus:
                found = True
                break
        if not found:
            return False
    return room.up[m] and (need.types >> room.type[m]) & 1 == 1


@bare
def capacity(room, m, need):
    """How many workers fit; no more than the job has."""
    if not fits(room, m, need):
        return 0
    most = need.workers
    if need.cpus > 0.0:
        most = min(most, int(np.floor((room.cpus[m] + TOLERANCE) / need.cpus)))
    if need.memory > 0.0:
        most = min(most, int(np.floor((room.memory[m] + TOLERANCE) / need.memory)))
    if need.gpus >= 1.0:
        most = min(most, room.whole[m] // int(need.gpus))
    elif need.gpus > 0.0:
        shares = 0
        for d in range(room.device.shape[1]):
            shares += int(np.floor((room.device[m, d] + TOLERANCE) / need.gpus))
        most = min(most, shares)
    return most


@bare
def holds(room, need):
    """Whether all workers fit."""
    found = 0
    for m in range(room.up.size):
        found += capacity(room, m, need)
        if found >= need.workers:
            return True
    return False


@bare
def share_device(room, m, gpus):
    """The device with the least free share that suffices."""
    best = -1
    for d in range(room.device.shape[1]):
        free = room.device[m, d]
        if free + TOLERANCE >= gpus and (best < 0 or free < room.device[m, best]):
            best = d
    return best


@bare
def take_device(room, m, d, share):
    if room.device[m, d] >= 1.0 - TOLERANCE:
        room.whole[m] -= 1
    room.device[m, d] -= share


@bare
def take(room, m, need, undo, worker):
    """Put a worker there, and remember how it was."""
    undo.machine[worker] = m
    undo.before[worker, 0] = room.gpus[m]
    undo.before[worker, 1] = room.whole[m]
    undo.before[worker, 2] = room.cpus[m]
    undo.before[worker, 3] = room.memory[m]
    for d in range(room.device.shape[1]):
        undo.before[worker, 4 + d] = room.device[m, d]
    devices = 0
    if need.gpus >= 1.0:
        left = int(need.gpus)
        for d in range(room.device.shape[1]):
            if left > 0 and room.device[m, d] >= 1.0 - TOLERANCE:
                take_device(room, m, d, 1.0)
                devices |= 1 << d
                left -= 1
    elif need.gpus > 0.0:
        d = share_device(room, m, need.gpus)
        take_device(room, m, d, need.gpus)
        devices = 1 << d
    undo.devices[worker] = devices
    room.gpus[m] -= need.gpus
    room.cpus[m] -= need.cpus
    room.memory[m] -= need.memory


@bare
def take_back(room, undo, workers):
    """As it was before so many workers of the gang."""
    for worker in range(workers - 1, -1, -1):
        m = undo.machine[worker]
        room.gpus[m] = undo.before[worker, 0]
        room.whole[m] = int(undo.before[worker, 1])
        room.cpus[m] = undo.before[worker, 2]
        room.memory[m] = undo.before[worker, 3]
        for d in range(room.device.shape[1]):
            room.device[m, d] = undo.before[worker, 4 + d]


@bare
def give_back(room, m, devices, gpus, cpus, memory):
    """What a worker held; `devices` has a bit for each of its."""
    for d in range(room.device.shape[1]):
        if (devices >> d) & 1:
            room.device[m, d] += min(gpus, 1.0)
            if room.device[m, d] >= 1.0 - TOLERANCE:
                room.whole[m] += 1
    room.gpus[m] += gpus
    room.cpus[m] += cpus
    room.memory[m] += memory
