"""The dag world's rules: lists, reservations, starting tasks, sending executors, rounds.  All rare-path code.

`docs/dag-model.md` is the specification; the names here are its words.  Every function takes one world (D, a `DagOne`).
"""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.dag_state import (
    BUSY,
    EXECUTOR_ARRIVAL,
    FREE,
    GROUP_ROUND,
    KIND_SHIFT,
    MOVING,
    NO_ROUND,
    PARKED,
    STAGE_ROUND,
    TASK_END,
    TASK_LOST,
)
from dovetail.sim.kernels.jit import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SILVER = np.uint64(0xD1B54A32D192ED03)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW_32 = np.uint64(0xFFFFFFFF)


@kernel
def mix(z):
    """splitmix64's finaliser: a counter in, 64 random-looking bits out."""
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


# --- the event heap -------------------------------------------------------------------------------------------------


@kernel
def sift_down(heap, size, t, k):
    """Put (t, k) at the root of the heap and let it sink."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right].time < heap[child].time
            or (heap[right].time == heap[child].time and heap[right].key < heap[child].key)
        ):
            child = right
        if heap[child].time > t or (heap[child].time == t and heap[child].key > k):
            break
        heap[i].time = heap[child].time
        heap[i].key = heap[child].key
        i = child
    heap[i].time = t
    heap[i].key = k


@kernel
def push_event(D, t, kind, e):
    heap = D.heap
    k = (kind << KIND_SHIFT) | e
    i = D.world[0].heap_size
    D.world[0].heap_size = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent].time < t or (heap[parent].time == t and heap[parent].key < k):
            break
        heap[i].time = heap[parent].time
        heap[i].key = heap[parent].key
        i = parent
    heap[i].time = t
    heap[i].key = k


@kernel
def pop_event(D):
    size = D.world[0].heap_size - 1
    D.world[0].heap_size = size
    if size > 0:
        sift_down(D.heap, size, D.heap[size].time, D.heap[size].key)


# --- saturation -----------------------------------------------------------------------------------------------------


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


# --- lists of idle executors ----------------------------------------------------------------------------------------


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


# --- starting tasks and sending executors ---------------------------------------------------------------------------


@kernel
def draw_duration(D, v, wave, executors):
    """How long the next task of stage v takes: the counter decides, not the history."""
    starts = D.stages[v].starts
    D.stages[v].starts = starts + 1
    h = mix(D.world[0].duration_key + np.uint64(v) * GOLDEN + np.uint64(starts) * SILVER)
    level = D.levels[executors].below
    if np.float64(h >> np.uint64(32)) * 2.0**-32 < D.levels[executors].up:
        level += 1
    slot = (D.stages[v].row * 3 + wave) * D.settings[0].num_levels + level
    pick = np.int64(((h & LOW_32) * np.uint64(D.slots[slot].count)) >> np.uint64(32))
    duration = D.samples_s[D.slots[slot].start + pick]
    if D.settings[0].straggler_probability > 0.0:
        luck = mix(h + np.uint64(1))
        if np.float64(luck >> np.uint64(32)) * 2.0**-32 < D.settings[0].straggler_probability:
            duration *= D.settings[0].straggler_factor
    return duration


@kernel
def next_failure(D, e):
    """Move executor e's next failure one exponential gap on."""
    i = D.executors[e].failures
    D.executors[e].failures = i + 1
    h = mix(D.world[0].failure_key + np.uint64(e) * GOLDEN + np.uint64(i) * SILVER)
    u = np.float64(h >> np.uint64(11)) * 2.0**-53
    D.executors[e].failure_s += -D.settings[0].mean_time_to_failure_s * np.log(1.0 - u)


@kernel
def task_end(D, e, end):
    """When and how the task that e starts now ends: (time, kind of event)."""
    if D.settings[0].mean_time_to_failure_s > 0.0:
        now = D.world[0].now
        while D.executors[e].failure_s < now:
            next_failure(D, e)
        if D.executors[e].failure_s < end:
            return D.executors[e].failure_s, TASK_LOST
    return end, TASK_END


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


# --- commitments of a stage that has run dry ------------------------------------------------------------------------


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


# --- rounds ---------------------------------------------------------------------------------------------------------


@kernel
def open_group_round(D, group):
    world = D.world[0]
    world.round_kind = GROUP_ROUND
    world.round_id += 1
    world.round_source = group
    world.round_job = group - 1
    world.round_executor = -1
    world.round_left = D.groups[group].total
    for kind in range(D.settings[0].num_classes):
        D.on_offer[kind] = D.queues[group * D.settings[0].num_classes + kind].free_count


@kernel
def open_stage_round(D, s, e, job):
    """e, free but on no list, and the executors still busy on s without a commitment, are on offer."""
    world = D.world[0]
    world.round_kind = STAGE_ROUND
    world.round_id += 1
    world.round_source = s
    world.round_job = job
    world.round_executor = e
    left = 0
    for kind in range(D.settings[0].num_classes):
        count = D.stage_executors[s * D.settings[0].num_classes + kind] - committed(D, s, kind)
        if kind == D.executors[e].kind:
            count += 1
        D.on_offer[kind] = count
        left += count
    world.round_left = left


@kernel
def has_undry_stage(D, j):
    first = D.jobs[j].first_stage
    dag = D.jobs[j].dag
    stages = D.dags[dag + 1].stage_ptr - D.dags[dag].stage_ptr
    unstarted = 0
    for v in range(first, first + stages):
        unstarted += D.stages[v].unstarted
    return unstarted > 0


@kernel
def decline(D, e):
    """e, on no list, was offered and not taken."""
    home = D.executors[e].home
    if D.settings[0].idle_until_arrival and home >= 0 and not has_undry_stage(D, home):
        leave_home(D, e)
        home = -1
    set_free(D, e, home, True)


@kernel
def move_to_common(D, j, offered):
    """All free executors of job j lose their home."""
    for kind in range(D.settings[0].num_classes):
        while D.queues[(j + 1) * D.settings[0].num_classes + kind].free_count > 0:
            e = take_free(D, j, kind)
            leave_home(D, e)
            set_free(D, e, -1, offered)


@kernel
def end_round(D):
    world = D.world[0]
    source = world.round_source
    if world.round_kind == GROUP_ROUND:
        D.groups[source].offered = world.version
        if D.settings[0].idle_until_arrival and source > 0 and not has_undry_stage(D, source - 1):
            move_to_common(D, source - 1, True)
    else:
        D.stages[source].offered = world.version
        e = world.round_executor
        if e != -1:
            decline(D, e)
    world.round_kind = NO_ROUND


@kernel
def find_group(D, job):
    """The next free group to be offered: that of `job`, the common one, the others by number; -1 = none."""
    world = D.world[0]
    version = world.version
    forced = D.settings[0].idle_until_arrival != 0
    if job >= 0 and D.groups[job + 1].total > 0:
        mark = D.groups[job + 1].offered
        if mark == -1 or (not forced and mark != version):
            return job + 1
    if D.groups[0].total > 0:
        mark = D.groups[0].offered
        if mark == -1 or (not forced and mark != version):
            return 0
    if world.total_free > D.groups[0].total:
        j = world.first_active
        while j != -1:
            if D.groups[j + 1].total > 0:
                mark = D.groups[j + 1].offered
                if mark == -1 or (not forced and mark != version):
                    return j + 1
            j = D.jobs[j].next
    return -1
