"""Events of the dag world, and the loop that runs a world to its next decision."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.dag_chance import draw_duration, next_failure, task_end
from dovetail.sim.kernels.dag_heap import pop_event, push_event, sift_down
from dovetail.sim.kernels.dag_idle import change, cross, leave_home, set_free, take_parked, unpark
from dovetail.sim.kernels.dag_moves import arrive, committed, dispatch, drop_newest, fulfil, is_complete
from dovetail.sim.kernels.dag_rounds import (
    decline,
    end_round,
    find_group,
    move_to_common,
    open_group_round,
    open_stage_round,
)
from dovetail.sim.kernels.dag_state import (
    AWAY,
    DECISION,
    EXECUTOR_ARRIVAL,
    EXECUTOR_BACK,
    EXECUTOR_MASK,
    FINISHED,
    KIND_SHIFT,
    NO_ROUND,
    RECORDS_FULL,
    STALLED,
    TASK_END,
    TASK_LOST,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def tick(D, t):
    """Move the clock to t and let time cost what it costs."""
    world = D.world[0]
    dt = t - world.now
    world.now = t
    if world.in_system > 0 or world.next_arrival < world.num_jobs:
        world.cost_time += dt
    world.cost_jobs += dt * world.in_system
    world.cost_weight += dt * world.active_weight
    world.cost_executors += dt * world.at_work


@kernel
def record_task(D, R, e, v, end, lost):
    i = D.world[0].task_records
    j = D.stages[v].job
    row = R.tasks[i]
    row.executor = e
    row.job = j
    row.stage = v - D.jobs[j].first_stage
    row.wave = D.executors[e].wave
    row.lost = lost
    row.start_s = D.executors[e].start_s
    row.end_s = end
    D.world[0].task_records = i + 1


@kernel
def job_arrives(D):
    world = D.world[0]
    j = world.next_arrival
    tick(D, D.jobs[j].arrival_s)
    world.next_arrival = j + 1
    world.in_system += 1
    D.world[0].active_weight += D.jobs[j].weight
    D.jobs[j].next = -1
    D.jobs[j].prev = world.last_active
    if world.last_active == -1:
        world.first_active = j
    else:
        D.jobs[world.last_active].next = j
    world.last_active = j
    world.unsaturated_jobs += 1
    world.version += 1
    world.event_job = j
    D.groups[0].offered = -1
    world.checked = -1


@kernel
def job_completes(D, j):
    world = D.world[0]
    now = world.now
    D.jobs[j].finish_s = now
    world.in_system -= 1
    world.active_weight -= D.jobs[j].weight
    due = max(D.jobs[j].deadline_s, D.jobs[j].arrival_s)
    if now > due:
        world.cost_late += now - due
    before = D.jobs[j].prev
    following = D.jobs[j].next
    if before == -1:
        world.first_active = following
    else:
        D.jobs[before].next = following
    if following == -1:
        world.last_active = before
    else:
        D.jobs[following].prev = before
    world.version += 1
    move_to_common(D, j, D.settings[0].idle_until_arrival != 0)
    classes = D.settings[0].num_classes
    for slot in range((j + 1) * classes, (j + 2) * classes):
        e = take_parked(D, slot)
        while e != -1:
            leave_home(D, e)
            set_free(D, e, -1, D.settings[0].idle_until_arrival != 0)
            e = take_parked(D, slot)


@kernel
def stage_runs_dry(D, e, s):
    """e has finished a task of s, and s has none left to start: decide where e goes."""
    world = D.world[0]
    j = D.stages[s].job
    kind = D.executors[e].kind
    D.stage_executors[s * D.settings[0].num_classes + kind] -= 1
    unlocked = False
    if D.stages[s].left == 0:
        D.jobs[j].stages_left -= 1
        base = D.jobs[j].first_stage
        row = D.stages[s].row
        for i in range(D.rows[row].child_ptr, D.rows[row + 1].child_ptr):
            child = base + D.children[i]
            D.stages[child].parents_left -= 1
            if D.stages[child].parents_left == 0:
                unlocked = True
        if unlocked:
            world.version += 1
            unpark(D, j)
    complete = is_complete(D, j)
    if complete:
        job_completes(D, j)
    target = fulfil(D, s, kind)
    if target != -1:
        if complete:
            leave_home(D, e)
        dispatch(D, e, target, 1)
    elif complete:
        leave_home(D, e)
        if D.settings[0].idle_until_arrival:
            open_stage_round(D, s, e, -1)
        else:
            set_free(D, e, -1, False)
    elif unlocked:
        set_free(D, e, j, False)
    elif D.stages[s].offered == world.version or (D.settings[0].idle_until_arrival and D.stages[s].offered != -1):
        decline(D, e)
    else:
        open_stage_round(D, s, e, j)
    if unlocked and D.settings[0].idle_until_arrival and D.groups[j + 1].total > 0:
        D.groups[j + 1].offered = -1
        world.checked = -1


@kernel
def task_is_lost(D, R, e):
    world = D.world[0]
    now = D.world[0].now
    s = D.executors[e].stage
    j = D.stages[s].job
    kind = D.executors[e].kind
    if R.tasks.shape[0] > 0:
        record_task(D, R, e, s, now, 1)
    world.busy_s += now - D.executors[e].start_s
    D.stages[s].running -= 1
    D.stage_executors[s * D.settings[0].num_classes + kind] -= 1
    change(D, s, 1, 0)
    if committed(D, s, kind) > D.stage_executors[s * D.settings[0].num_classes + kind]:
        drop_newest(D, s, kind)
    world.version += 1
    unpark(D, j)
    leave_home(D, e)
    D.executors[e].state = AWAY
    D.executors[e].stage = -1
    world.at_work -= 1
    next_failure(D, e)
    push_event(D, now + D.settings[0].repair_s, EXECUTOR_BACK, e)


@kernel
def run_full_stages(D, R):
    """The hot loop: task ends of stages that still have tasks to start, until anything else happens.

    Nine events in ten end here.  The executor stays at the root of the heap with its next task.
    """
    world = D.world[0]
    heap = D.heap
    failing = D.settings[0].mean_time_to_failure_s > 0.0
    recording = R.tasks.shape[0] > 0
    room = R.tasks.shape[0]
    arrival = D.jobs[world.next_arrival].arrival_s if world.next_arrival < world.num_jobs else np.inf
    until = min(arrival, world.horizon)
    size = world.heap_size
    now = world.now
    jobs = float(world.in_system)
    weight = world.active_weight
    at_work = float(world.at_work)
    start = now
    events = 0
    busy = 0.0
    while size > 0:
        t = heap[0].time
        k = heap[0].key
        if t >= until or (k >> KIND_SHIFT) != TASK_END:
            break
        e = k & EXECUTOR_MASK
        v = D.executors[e].stage
        unstarted = D.stages[v].unstarted
        if unstarted <= 0 or (recording and world.task_records >= room):
            break
        now = t
        if recording:
            record_task(D, R, e, v, t, 0)
        events += 1
        busy += t - D.executors[e].start_s
        D.stages[v].left -= 1
        D.stages[v].unstarted = unstarted - 1
        j = D.stages[v].job
        end = t + draw_duration(D, v, 2, D.jobs[j].home)
        D.executors[e].start_s = t
        D.executors[e].wave = 2
        kind = TASK_END
        if failing:
            world.now = t
            end, kind = task_end(D, e, end)
        sift_down(heap, size, end, (kind << KIND_SHIFT) | e)
        if unstarted - D.stages[v].reserved == 1:
            cross(D, v, False)
            world.event_job = j
            break
    world.events += events
    world.busy_s += busy
    dt = now - start
    world.now = now
    world.cost_time += dt
    world.cost_jobs += dt * jobs
    world.cost_weight += dt * weight
    world.cost_executors += dt * at_work


@kernel
def handle_event(D, R):
    """The earliest executor event (job arrivals are handled apart)."""
    world = D.world[0]
    t = D.heap[0].time
    k = D.heap[0].key
    e = k & EXECUTOR_MASK
    kind = k >> KIND_SHIFT
    tick(D, t)
    pop_event(D)
    world.events += 1
    v = D.executors[e].stage
    if kind == TASK_END:
        world.event_job = D.stages[v].job
        if R.tasks.shape[0] > 0:
            record_task(D, R, e, v, t, 0)
        world.busy_s += t - D.executors[e].start_s
        D.stages[v].running -= 1
        D.stages[v].left -= 1
        stage_runs_dry(D, e, v)
    elif kind == EXECUTOR_ARRIVAL:
        world.event_job = D.stages[v].job
        arrive(D, e)
    elif kind == TASK_LOST:
        world.event_job = D.stages[v].job
        task_is_lost(D, R, e)
    else:
        world.event_job = -1
        world.at_work += 1
        set_free(D, e, -1, False)


@kernel
def may_choose(D, v, row):
    """Not saturated, all parents saturated, not chosen in this round, and some executor on offer fits."""
    if D.stages[v].unstarted - D.stages[v].reserved <= 0:
        return False
    if D.stages[v].parents_unsaturated != 0 or D.stages[v].chosen_round == D.world[0].round_id:
        return False
    for kind in range(D.settings[0].num_classes):
        if D.on_offer[kind] > 0 and D.fits[row * D.settings[0].num_classes + kind] == 1:
            return True
    return False


@kernel
def any_choice(D):
    j = D.world[0].first_active
    while j != -1:
        if D.jobs[j].unsaturated > 0:
            base = D.jobs[j].first_stage
            first = D.dags[D.jobs[j].dag].stage_ptr
            last = D.dags[D.jobs[j].dag + 1].stage_ptr
            for row in range(first, last):
                if may_choose(D, base + row - first, row):
                    return True
        j = D.jobs[j].next
    return False


@kernel
def advance(D, R):
    """Run world w until a decision is needed, all is done, or there is no room for records."""
    world = D.world[0]
    while True:
        if world.round_kind != NO_ROUND:
            if world.round_left > 0 and world.unsaturated_jobs > 0 and any_choice(D):
                room = R.decisions.shape[0]
                if room > 0 and world.decision_records >= room:
                    return RECORDS_FULL
                return DECISION
            end_round(D)
            continue
        if world.total_free > 0 and world.unsaturated_jobs > 0 and world.checked != world.version:
            group = find_group(D, world.event_job)
            if group != -1:
                open_group_round(D, group)
                continue
            world.checked = world.version
        if world.in_system == 0 and world.next_arrival == world.num_jobs:
            return FINISHED
        version = world.version
        run_full_stages(D, R)
        if world.version != version:
            continue
        room = R.tasks.shape[0]
        if room > 0 and world.task_records >= room:
            return RECORDS_FULL
        arrival = D.jobs[world.next_arrival].arrival_s if world.next_arrival < world.num_jobs else np.inf
        event = D.heap[0].time if world.heap_size > 0 else np.inf
        soonest = min(arrival, event)
        if soonest == np.inf:
            return STALLED
        if soonest >= world.horizon:
            tick(D, world.horizon)
            return FINISHED
        if arrival <= event:
            while world.next_arrival < world.num_jobs and D.jobs[world.next_arrival].arrival_s == arrival:
                world.events += 1
                job_arrives(D)
        else:
            handle_event(D, R)
