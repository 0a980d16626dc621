"""Where workers stand: rows of jobs on machines, in lists by machine and by job."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.gpu_state import (
    FREE_CPUS,
    FREE_GPUS,
    FREE_MEMORY,
    MACHINE_IS_DOWN,
    NO_SUCH_MACHINE,
    OK,
    SLACK,
    SPEED,
    TOO_FEW_CPUS,
    TOO_FEW_GPUS,
    TOO_LITTLE_MEMORY,
    WRONG_KIND,
    WRONG_TYPE,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def touch(D, m):
    """The rows of machine m have changed: it will be looked at when speeds are worked out."""
    if D.machines[m].mark == 0:
        D.machines[m].mark = 1
        D.touched[D.world[0].touched] = m
        D.world[0].touched += 1


@kernel
def most_free(D, m):
    most = 0.0
    for d in range(D.machines[m].gpus):
        most = max(most, D.device_free[m, d])
    return most


@kernel
def misfit(D, j, m):
    """Why a worker of job j does not fit machine m as it is now, or OK."""
    job = D.jobs[j]
    world = D.world[0]
    if m < 0 or m >= D.settings[0].num_machines:
        return NO_SUCH_MACHINE
    if not D.up[m]:
        return MACHINE_IS_DOWN
    kind = D.machines[m].type
    if job.types != -1 and (job.types >> kind) & 1 == 0:
        return WRONG_TYPE
    if D.kinds[job.kind * D.settings[0].width + SPEED + kind] <= 0.0:
        return WRONG_KIND
    world.refused_need = job.cpus
    world.refused_free = D.free[FREE_CPUS, m]
    if world.refused_free + SLACK < world.refused_need:
        return TOO_FEW_CPUS
    world.refused_need = job.memory
    world.refused_free = D.free[FREE_MEMORY, m]
    if world.refused_free + SLACK < world.refused_need:
        return TOO_LITTLE_MEMORY
    world.refused_need = job.gpus
    if job.gpus >= 1.0:
        world.refused_free = D.whole_free[m]
        if D.whole_free[m] < np.int64(job.gpus):
            return TOO_FEW_GPUS
    elif job.gpus > 0.0:
        world.refused_free = most_free(D, m)
        if world.refused_free + SLACK < job.gpus:
            return TOO_FEW_GPUS
    return OK


@kernel
def best_device(D, m, share):
    """The device with the least free share that suffices, the lowest number among equals; there is one."""
    best = -1
    least = 2.0
    for d in range(D.machines[m].gpus):
        free = D.device_free[m, d]
        if free + SLACK >= share and free < least - SLACK:
            best = d
            least = free
    return best


@kernel
def take_whole(D, m, count):
    """Take the free devices of the lowest numbers; a bit for each."""
    mask = np.int64(0)
    for d in range(D.machines[m].gpus):
        if count > 0 and D.device_free[m, d] >= 1.0 - SLACK:
            D.device_free[m, d] = 0.0
            mask |= np.int64(1) << d
            count -= 1
    return mask


@kernel
def place_worker(D, j, m):
    """A worker of job j, which fits, stands on machine m now.  What is free is exact again after `refresh`."""
    job = D.jobs[j]
    device = -1
    mask = np.int64(0)
    D.free[FREE_CPUS, m] -= job.cpus
    D.free[FREE_MEMORY, m] -= job.memory
    D.free[FREE_GPUS, m] -= job.gpus
    if job.gpus >= 1.0:
        mask = take_whole(D, m, np.int64(job.gpus))
        D.whole_free[m] -= np.int64(job.gpus)
    elif job.gpus > 0.0:
        device = best_device(D, m, job.gpus)
        if D.device_free[m, device] >= 1.0 - SLACK:
            D.whole_free[m] -= 1
        D.device_free[m, device] -= job.gpus
    r = D.machines[m].first_row  # the newest rows are those of the job that is being placed
    while r != -1 and D.rows[r].job == j:
        if D.rows[r].gpu == device:
            D.rows[r].workers += 1
            D.rows[r].mask |= mask
            return
        r = D.rows[r].next
    add_row(D, j, m, device, mask)
    touch(D, m)


@kernel
def add_row(D, j, m, device, mask):
    world = D.world[0]
    job = D.jobs[j]
    r = world.free_row
    row = D.rows[r]
    world.free_row = row.next_of_job
    row.job = j
    row.machine = m
    row.workers = 1
    row.gpu = device
    row.mask = mask
    row.next_of_job = -1
    if job.first_row == -1:
        job.first_row = r
    else:
        D.rows[job.last_row].next_of_job = r
    job.last_row = r
    row.previous = -1
    row.next = -1
    link(D, r, D.machines[m].first_row)


@kernel
def link(D, r, following):
    """Put row r before `following` in the list of its machine, behind `rows[r].previous`."""
    row = D.rows[r]
    row.next = following
    if row.previous == -1:
        D.machines[row.machine].first_row = r
    else:
        D.rows[row.previous].next = r
    if following != -1:
        D.rows[following].previous = r


@kernel
def unlink(D, r):
    """Take row r out of the list of its machine; it remembers where it was."""
    row = D.rows[r]
    if row.previous == -1:
        D.machines[row.machine].first_row = row.next
    else:
        D.rows[row.previous].next = row.next
    if row.next != -1:
        D.rows[row.next].previous = row.previous
    touch(D, row.machine)


@kernel
def unlink_job(D, j):
    r = D.jobs[j].first_row
    while r != -1:
        unlink(D, r)
        r = D.rows[r].next_of_job


@kernel
def relink_job(D, j):
    """Undo `unlink_job`; nothing has changed since then."""
    after = -1  # rows of a job, the last first: from here on the chain has been turned round
    r = D.jobs[j].first_row
    while r != -1:
        following = D.rows[r].next_of_job
        D.rows[r].next_of_job = after
        after = r
        r = following
    before = -1
    while after != -1:
        link(D, after, D.rows[after].next)
        touch(D, D.rows[after].machine)
        following = D.rows[after].next_of_job
        D.rows[after].next_of_job = before
        before = after
        after = following


@kernel
def free_rows(D, j):
    """Rows of job j, which are in no machine's list any more, can be used again."""
    r = D.jobs[j].first_row
    while r != -1:
        following = D.rows[r].next_of_job
        D.rows[r].next_of_job = D.world[0].free_row
        D.world[0].free_row = r
        r = following
    D.jobs[j].first_row = -1
