"""Starting tasks, sending executors, and commitments of a stage that has run dry."""

from __future__ import annotations

from dovetail.sim.kernels.dag_chance import draw_duration, task_end
from dovetail.sim.kernels.dag_heap import push_event
from dovetail.sim.kernels.dag_idle import change, leave_home, park, set_free, unpark
from dovetail.sim.kernels.dag_state import BUSY, EXECUTOR_ARRIVAL, MOVING
from dovetail.sim.kernels.jit import kernel


@kernel
def start_task(D, e, v, dropped):
    """e, which is at home with v's job, begins a task of v, giving up its reservation if it had one."""
    j = D.stages[v].job
    last = D.executors[e].last_stage
    wave = 0 if last == -1 else (2 if last == v else 1)
    now = D.world[0].now
    duration = draw_duration(D, v, wave, D.jobs[j].home)
    D.executors[e].state = BUSY
    D.executors[e].stage = v
    D.executors[e].last_stage = v
    D.executors[e].start_s = now
    D.executors[e].wave = wave
    D.stages[v].running += 1
    D.stage_executors[v * D.settings[0].num_classes + D.executors[e].kind] += 1
    change(D, v, -1, -dropped)
    t, kind = task_end(D, e, now + duration)
    push_event(D, t, kind, e)


@kernel
def is_complete(D, j):
    return D.jobs[j].stages_left == 0


@kernel
def can_start_something(D, j):
    """Whether job j has a stage that is ready and not saturated."""
    first = D.jobs[j].first_stage
    dag = D.jobs[j].dag
    for v in range(first, first + D.dags[dag + 1].stage_ptr - D.dags[dag].stage_ptr):
        stage = D.stages[v]
        if stage.parents_left == 0 and stage.unstarted > stage.reserved:
            return True
    return False


@kernel
def dispatch(D, e, v, dropped):
    """Send e, which is on no list, to stage v; `dropped` is 1 if it comes from a commitment, whose reservation ends.

    Reservations change in one step, so that a stage does not seem unsaturated for a moment in between.
    """
    k = D.stages[v].job
    home = D.executors[e].home
    if is_complete(D, k) or D.stages[v].unstarted <= 0:
        change(D, v, 0, -dropped)
        set_free(D, e, home, D.settings[0].idle_until_arrival != 0)
    elif home != k:
        leave_home(D, e)
        D.executors[e].state = MOVING
        D.executors[e].stage = v
        D.jobs[k].incoming += 1
        change(D, v, 0, 1 - dropped)
        push_event(D, D.world[0].now + D.settings[0].moving_delay_s, EXECUTOR_ARRIVAL, e)
    elif D.stages[v].parents_left == 0:
        start_task(D, e, v, dropped)
    elif dropped == 1 and not D.settings[0].idle_until_arrival and can_start_something(D, k):
        change(D, v, 0, -1)
        set_free(D, e, home, False)
    else:
        park(D, e, v, dropped)


@kernel
def arrive(D, e):
    """e, moving, reaches the stage it was sent to."""
    v = D.executors[e].stage
    k = D.stages[v].job
    D.jobs[k].incoming -= 1
    if is_complete(D, k):
        change(D, v, 0, -1)
        set_free(D, e, -1, D.settings[0].idle_until_arrival != 0)
        return
    D.executors[e].home = k
    D.jobs[k].home += 1
    dispatch(D, e, v, 1)


@kernel
def commit(D, s, v, kind, count):
    """`count` executors of that class, now on stage s, will go to v."""
    world = D.world[0]
    slot = world.free_commitment
    world.free_commitment = D.commitments[slot].next
    D.commitments[slot].target = v
    D.commitments[slot].kind = kind
    D.commitments[slot].count = count
    D.commitments[slot].next = -1
    if D.stages[s].commit_tail == -1:
        D.stages[s].commit_head = slot
    else:
        D.commitments[D.stages[s].commit_tail].next = slot
    D.stages[s].commit_tail = slot
    change(D, v, 0, count)
    if D.stages[v].job != D.stages[s].job:
        D.jobs[D.stages[v].job].incoming += count
        D.jobs[D.stages[s].job].outgoing += count


@kernel
def withdraw(D, s, before, slot):
    """One executor less is committed through `slot` (whose predecessor in s's list is `before`, or -1).

    Returns the target; its reservation is the caller's to drop.
    """
    world = D.world[0]
    v = D.commitments[slot].target
    if D.stages[v].job != D.stages[s].job:
        D.jobs[D.stages[v].job].incoming -= 1
        D.jobs[D.stages[s].job].outgoing -= 1
    D.commitments[slot].count -= 1
    if D.commitments[slot].count == 0:
        following = D.commitments[slot].next
        if before == -1:
            D.stages[s].commit_head = following
        else:
            D.commitments[before].next = following
        if following == -1:
            D.stages[s].commit_tail = before
        D.commitments[slot].next = world.free_commitment
        world.free_commitment = slot
    return v


@kernel
def fulfil(D, s, kind):
    """Take the oldest commitment of s for that class: its target, or -1."""
    before = -1
    slot = D.stages[s].commit_head
    while slot != -1:
        if D.commitments[slot].kind == kind:
            return withdraw(D, s, before, slot)
        before = slot
        slot = D.commitments[slot].next
    return -1


@kernel
def committed(D, s, kind):
    total = 0
    slot = D.stages[s].commit_head
    while slot != -1:
        if D.commitments[slot].kind == kind:
            total += D.commitments[slot].count
        slot = D.commitments[slot].next
    return total


@kernel
def drop_newest(D, s, kind):
    found = -1
    found_before = -1
    before = -1
    slot = D.stages[s].commit_head
    while slot != -1:
        if D.commitments[slot].kind == kind:
            found = slot
            found_before = before
        before = slot
        slot = D.commitments[slot].next
    if found != -1:
        v = withdraw(D, s, found_before, found)
        change(D, v, 0, -1)
        if D.stages[v].parents_left == 0:
            unpark(D, D.stages[v].job)
