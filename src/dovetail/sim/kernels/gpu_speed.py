"""What machines have free and how fast jobs run, from the rows; see `cluster/gpu_speed.py` for the formula.

Sums are always made anew from the rows of a machine, so rounding never adds up.
"""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.gpu_chance import mood
from dovetail.sim.kernels.gpu_heap import order_completions, set_completion
from dovetail.sim.kernels.gpu_state import (
    FREE_CPUS,
    FREE_GPUS,
    FREE_MEMORY,
    HOST_PRESSURE,
    HOST_SENSITIVITY,
    RUNNING,
    SLACK,
    SPEED,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def nothing_free(D, m):
    for d in range(D.device_free.shape[1]):
        D.device_free[m, d] = 0.0
    D.free[FREE_GPUS, m] = 0.0
    D.free[FREE_CPUS, m] = 0.0
    D.free[FREE_MEMORY, m] = 0.0
    D.whole_free[m] = 0


@kernel
def refresh(D, m):
    """Work out what machine m has free, and how fast each row on it runs but for the mood."""
    if not D.up[m]:
        nothing_free(D, m)
        return
    machine = D.machines[m]
    gpus = machine.gpus
    columns = D.settings[0].device_columns
    width = D.settings[0].width
    on_device = SPEED + D.settings[0].num_types
    for i in range(gpus * (1 + columns)):
        D.pressure[i] = 0.0
    cpus = 0.0
    memory = 0.0
    host_0 = 0.0
    host_1 = 0.0
    host_2 = 0.0
    r = machine.first_row
    while r != -1:
        j = D.rows[r].job
        job = D.jobs[j]
        at = job.kind * width
        workers = 0
        while r != -1 and D.rows[r].job == j:
            row = D.rows[r]
            workers += row.workers
            if row.gpu >= 0:
                D.pressure[row.gpu] += row.workers * job.gpus
                for q in range(columns):
                    D.pressure[gpus + row.gpu * columns + q] += row.workers * D.kinds[at + on_device + q]
            elif row.mask != 0:
                for d in range(gpus):
                    if (row.mask >> d) & 1:
                        D.pressure[d] = 1.0
            r = row.next
        cpus += workers * job.cpus
        memory += workers * job.memory
        size = workers * job.gpus
        host_0 += size * D.kinds[at + HOST_PRESSURE]
        host_1 += size * D.kinds[at + HOST_PRESSURE + 1]
        if job.machines > 1:
            host_2 += size * D.kinds[at + HOST_PRESSURE + 2]
    D.free[FREE_CPUS, m] = machine.cpus - cpus
    D.free[FREE_MEMORY, m] = machine.memory - memory
    total = 0.0
    whole = 0
    for d in range(gpus):
        free = 1.0 - D.pressure[d]
        if free < SLACK:
            free = 0.0
        D.device_free[m, d] = free
        total += free
        if free >= 1.0 - SLACK:
            whole += 1
    D.free[FREE_GPUS, m] = total
    D.whole_free[m] = whole
    r = machine.first_row
    while r != -1:
        r = slow_down(D, m, r, host_0, host_1, host_2)


@kernel
def slow_down(D, m, r, host_0, host_1, host_2):
    """How fast the job of row r runs in each of its rows on machine m; the first row of the next job there."""
    j = D.rows[r].job
    job = D.jobs[j]
    if job.mark == 0:
        job.mark = 1
        D.dirty[D.world[0].dirty] = j
        D.world[0].dirty += 1
    workers = 0
    after = r
    while after != -1 and D.rows[after].job == j:
        workers += D.rows[after].workers
        after = D.rows[after].next
    gpus = D.machines[m].gpus
    columns = D.settings[0].device_columns
    at = job.kind * D.settings[0].width
    on_device = at + SPEED + D.settings[0].num_types
    size = workers * job.gpus
    host = D.kinds[at + HOST_SENSITIVITY] * (host_0 - size * D.kinds[at + HOST_PRESSURE])
    host += D.kinds[at + HOST_SENSITIVITY + 1] * (host_1 - size * D.kinds[at + HOST_PRESSURE + 1])
    if job.machines > 1:
        host += D.kinds[at + HOST_SENSITIVITY + 2] * (host_2 - size * D.kinds[at + HOST_PRESSURE + 2])
    base = D.kinds[at + SPEED + D.machines[m].type] / (1.0 + host)
    while r != after:
        row = D.rows[r]
        device = 0.0
        if row.gpu >= 0:
            for q in range(columns):
                others = D.pressure[gpus + row.gpu * columns + q] - row.workers * D.kinds[on_device + q]
                device += D.kinds[on_device + columns + q] * others
        row.pace = base / (1.0 + device)
        r = row.next
    return after


@kernel
def speed_now(D, j):
    """The slowest worker's, and what the network leaves of it."""
    slowest = np.inf
    r = D.jobs[j].first_row
    while r != -1:
        slowest = min(slowest, D.rows[r].pace * mood(D, D.rows[r].machine))
        r = D.rows[r].next_of_job
    return slowest * D.jobs[j].apart


@kernel
def accrue(D, j):
    """Count the work done since the last time."""
    job = D.jobs[j]
    done = job.speed * (D.world[0].now - job.since_s)
    job.left_s = max(job.left_s - done, 0.0)
    job.speed_s += done
    job.since_s = D.world[0].now


@kernel
def record_speed(D, R, j):
    world = D.world[0]
    if R.speeds.shape[0] > 0:
        row = R.speeds[world.speed_records]
        row.time_s = world.now
        row.job = j
        row.speed = D.jobs[j].speed
        world.speed_records += 1


@kernel
def set_speed(D, R, j):
    """Job j runs at the speed of now; True if that has changed."""
    job = D.jobs[j]
    speed = speed_now(D, j)
    if speed == job.speed:
        return False
    accrue(D, j)
    job.speed = speed
    record_speed(D, R, j)
    return True


@kernel
def settle(D, R):
    """Work out what is free and how fast jobs run, where something has changed."""
    world = D.world[0]
    for i in range(world.touched):
        m = D.touched[i]
        D.machines[m].mark = 0
        refresh(D, m)
    world.touched = 0
    for i in range(world.dirty):
        j = D.dirty[i]
        D.jobs[j].mark = 0
        if D.jobs[j].state == RUNNING and set_speed(D, R, j):
            set_completion(D, j, world.now + D.jobs[j].left_s / D.jobs[j].speed)
    world.dirty = 0
    if world.mood_due != 0:
        world.mood_due = 0
        j = world.first_run
        while j != -1:
            if set_speed(D, R, j):
                D.heap[D.jobs[j].heap_place].time = world.now + D.jobs[j].left_s / D.jobs[j].speed
            j = D.jobs[j].next
        order_completions(D)
