"""Claims on tasks, and the lists of executors that are free or parked."""

from __future__ import annotations

from dovetail.sim.kernels.dag_state import FREE, PARKED
from dovetail.sim.kernels.jit import kernel


@kernel
def cross(D, v, unsaturated):
    """Stage v has just become saturated, or has ceased to be: tell its job, its children, and idle executors."""
    world = D.world[0]
    j = D.stages[v].job
    step = 1 if unsaturated else -1
    before = D.jobs[j].unsaturated
    D.jobs[j].unsaturated = before + step
    if before == 0 or before + step == 0:
        world.unsaturated_jobs += step
    base = D.jobs[j].first_stage
    row = D.stages[v].row
    for i in range(D.rows[row].child_ptr, D.rows[row + 1].child_ptr):
        D.stages[base + D.children[i]].parents_unsaturated += step
    world.version += 1


@kernel
def change(D, v, unstarted, reserved):
    """Change the unstarted tasks and the reservations of stage v."""
    before = D.stages[v].unstarted - D.stages[v].reserved > 0
    D.stages[v].unstarted += unstarted
    D.stages[v].reserved += reserved
    after = D.stages[v].unstarted - D.stages[v].reserved > 0
    if before != after:
        cross(D, v, after)


@kernel
def set_free(D, e, home, offered):
    """e joins the free group of its home (-1: the common one).  `offered`: it has had its chance at this version."""
    world = D.world[0]
    D.executors[e].state = FREE
    D.executors[e].home = home
    D.executors[e].stage = -1
    if home == -1 or D.settings[0].pool_forgets:
        D.executors[e].last_stage = -1
    if home == -1:
        world.at_work -= 1
    group = home + 1
    slot = group * D.settings[0].num_classes + D.executors[e].kind
    if not offered:
        D.groups[group].offered = -1
        world.checked = -1
    elif D.groups[group].total == 0:
        D.groups[group].offered = world.version
    queue = D.queues[slot]
    D.executors[e].next = -1
    if queue.free_tail == -1:
        queue.free_head = e
    else:
        D.executors[queue.free_tail].next = e
    queue.free_tail = e
    queue.free_count += 1
    D.groups[group].total += 1
    world.total_free += 1


@kernel
def take_free(D, home, kind):
    """The executor of that class that has been free longest."""
    world = D.world[0]
    group = home + 1
    slot = group * D.settings[0].num_classes + kind
    queue = D.queues[slot]
    e = queue.free_head
    queue.free_head = D.executors[e].next
    if queue.free_head == -1:
        queue.free_tail = -1
    queue.free_count -= 1
    D.groups[group].total -= 1
    world.total_free -= 1
    if home == -1:
        world.at_work += 1
    return e


@kernel
def park(D, e, v, dropped):
    """e waits at its home for stage v to become ready, which it reserves a task of; it may give up an older one."""
    home = D.stages[v].job
    if D.settings[0].idle_until_arrival:
        change(D, v, 0, -dropped)
        set_free(D, e, home, True)
        return
    D.executors[e].state = PARKED
    D.executors[e].stage = v
    if D.settings[0].pool_forgets:
        D.executors[e].last_stage = -1
    change(D, v, 0, 1 - dropped)
    queue = D.queues[(home + 1) * D.settings[0].num_classes + D.executors[e].kind]
    D.executors[e].next = -1
    if queue.park_tail == -1:
        queue.park_head = e
    else:
        D.executors[queue.park_tail].next = e
    queue.park_tail = e


@kernel
def take_parked(D, slot):
    """The executor of that queue that has been parked longest, its reservation dropped; -1 = none."""
    queue = D.queues[slot]
    e = queue.park_head
    if e != -1:
        queue.park_head = D.executors[e].next
        if queue.park_head == -1:
            queue.park_tail = -1
        change(D, D.executors[e].stage, 0, -1)
    return e


@kernel
def unpark(D, j):
    """All parked executors of job j become free."""
    classes = D.settings[0].num_classes
    for slot in range((j + 1) * classes, (j + 2) * classes):
        e = take_parked(D, slot)
        while e != -1:
            set_free(D, e, j, False)
            e = take_parked(D, slot)


@kernel
def leave_home(D, e):
    home = D.executors[e].home
    if home >= 0:
        D.jobs[home].home -= 1
    D.executors[e].home = -1
    D.executors[e].last_stage = -1
