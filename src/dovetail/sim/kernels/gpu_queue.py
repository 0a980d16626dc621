"""The queue: waiting jobs by arrival, one column for each field of a view, with room at both ends.

Jobs are numbered by arrival, so the column of their numbers is sorted.  A job leaves by moving the shorter side.
"""

from __future__ import annotations

from dovetail.sim.kernels.gpu_state import (
    JOB_ARRIVAL,
    JOB_CPUS,
    JOB_FLOATS,
    JOB_GPUS,
    JOB_ID,
    JOB_INTS,
    JOB_KIND,
    JOB_LEFT,
    JOB_MEMORY,
    JOB_SERVED,
    JOB_STOPS,
    JOB_TYPES,
    JOB_USER,
    JOB_WORKERS,
    WAITING,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def known_left(D, j, done_s):
    """Seconds left at speed 1, as far as is known, when that much has been done."""
    estimate = D.jobs[j].estimate_s
    return max(estimate - done_s, 0.1 * estimate)


@kernel
def write_waiting(D, i, j):
    job = D.jobs[j]
    D.queue_ints[JOB_ID, i] = j
    D.queue_ints[JOB_USER, i] = job.user
    D.queue_ints[JOB_KIND, i] = job.kind
    D.queue_ints[JOB_WORKERS, i] = job.workers
    D.queue_ints[JOB_TYPES, i] = job.types
    D.queue_ints[JOB_STOPS, i] = job.stops
    D.queue_floats[JOB_ARRIVAL, i] = job.arrival_s
    D.queue_floats[JOB_GPUS, i] = job.gpus
    D.queue_floats[JOB_CPUS, i] = job.cpus
    D.queue_floats[JOB_MEMORY, i] = job.memory
    D.queue_floats[JOB_LEFT, i] = known_left(D, j, job.done_s)
    D.queue_floats[JOB_SERVED, i] = job.served_s


@kernel
def move(D, source, target):
    for column in range(JOB_INTS):
        D.queue_ints[column, target] = D.queue_ints[column, source]
    for column in range(JOB_FLOATS):
        D.queue_floats[column, target] = D.queue_floats[column, source]


@kernel
def join_queue(D, j):
    """Job j waits, at its place by arrival."""
    world = D.world[0]
    if world.tail == D.queue_ints.shape[1]:
        count = world.tail - world.head
        for i in range(count):
            move(D, world.head + i, i)
        world.head = 0
        world.tail = count
    low = world.head
    high = world.tail
    if high > low and D.queue_ints[JOB_ID, high - 1] < j:
        low = high
    while low < high:
        middle = (low + high) >> 1
        if D.queue_ints[JOB_ID, middle] < j:
            low = middle + 1
        else:
            high = middle
    if world.head > 0 and low - world.head < world.tail - low:
        for i in range(world.head, low):
            move(D, i, i - 1)
        world.head -= 1
        low -= 1
    else:
        for back in range(world.tail - low):
            move(D, world.tail - 1 - back, world.tail - back)
        world.tail += 1
    write_waiting(D, low, j)
    D.jobs[j].state = WAITING
    world.waiting_workers += D.jobs[j].workers


@kernel
def leave_queue(D, first, last):
    """Of the places from first to last those go whose jobs do not wait any more; the shorter side moves up."""
    world = D.world[0]
    if last - world.head < world.tail - first:
        target = last
        for back in range(last - world.head + 1):
            i = last - back
            if D.jobs[D.queue_ints[JOB_ID, i]].state == WAITING:
                if i != target:
                    move(D, i, target)
                target -= 1
        world.head = target + 1
    else:
        target = first
        for i in range(first, world.tail):
            if D.jobs[D.queue_ints[JOB_ID, i]].state == WAITING:
                if i != target:
                    move(D, i, target)
                target += 1
        world.tail = target
