"""Events of the gpu world, and the loop that runs a world to its next decision."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.gpu_chance import draw_time, last_multiple, look_at_moods
from dovetail.sim.kernels.gpu_heap import next_of_first_machine
from dovetail.sim.kernels.gpu_moves import back_to_queue, complete_job
from dovetail.sim.kernels.gpu_queue import join_queue
from dovetail.sim.kernels.gpu_rows import touch, unlink_job
from dovetail.sim.kernels.gpu_speed import settle
from dovetail.sim.kernels.gpu_state import (
    ARRIVAL,
    ASKING,
    COMPLETED,
    COMPLETION,
    DECISION,
    DOWN,
    FINISHED,
    MACHINE_LOST,
    MOOD,
    NOTHING,
    QUANTUM,
    RECORDS_FULL,
    UP,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def asking_time(D):
    """When the scheduler will be asked if nothing else happens before, inf = not at all."""
    world = D.world[0]
    if world.changed == 0 or world.tail == world.head:
        return np.inf
    interval = D.settings[0].interval_s
    if interval == 0.0 or world.again == 1:
        return world.now
    n = last_multiple(world.now, interval)
    return n * interval if n * interval == world.now else (n + 1) * interval


@kernel
def next_event(D):
    """(time, kind) of what happens next."""
    world = D.world[0]
    t = np.inf
    kind = NOTHING
    if world.heap_size > 0:
        t = D.heap[0].time
        kind = COMPLETION
    if world.machine_heap_size > 0 and D.machine_heap[0].time < t:
        t = D.machine_heap[0].time
        kind = DOWN if D.up[D.machine_heap[0].id] else UP
    if world.next_arrival < D.settings[0].num_jobs and D.jobs[world.next_arrival].arrival_s < t:
        t = D.jobs[world.next_arrival].arrival_s
        kind = ARRIVAL
    if world.running > 0:
        if D.settings[0].mood_sigma > 0.0:
            look = (world.look + 1) * D.settings[0].mood_every_s
            if look < t:
                t = look
                kind = MOOD
        if D.settings[0].preemption != 0 and world.tail > world.head:
            quantum = world.quantum * D.settings[0].quantum_s
            if quantum <= world.now:
                world.quantum = last_multiple(world.now, D.settings[0].quantum_s) + 1
                quantum = world.quantum * D.settings[0].quantum_s
            if quantum < t:
                t = quantum
                kind = QUANTUM
    asking = asking_time(D)
    if asking < t:
        t = asking
        kind = ASKING
    return t, kind


@kernel
def record_machine(D, R, m):
    world = D.world[0]
    if R.machines.shape[0] > 0:
        row = R.machines[world.machine_records]
        row.time_s = world.now
        row.machine = m
        row.up = 1 if D.up[m] else 0
        world.machine_records += 1


@kernel
def machine_fails(D, R):
    """The first machine in the heap is down: whoever has a worker there waits again."""
    world = D.world[0]
    m = D.machine_heap[0].id
    lost = D.ops  # no answer is being looked at
    count = 0
    r = D.machines[m].first_row
    while r != -1:
        j = D.rows[r].job
        place = count
        while place > 0 and lost[place - 1] > j:  # by number; they are few
            lost[place] = lost[place - 1]
            place -= 1
        lost[place] = j
        count += 1
        while r != -1 and D.rows[r].job == j:
            r = D.rows[r].next
    D.up[m] = False
    world.down += 1
    touch(D, m)
    for i in range(count):
        unlink_job(D, lost[i])
        back_to_queue(D, R, lost[i], MACHINE_LOST)
    record_machine(D, R, m)
    next_of_first_machine(D, world.now + draw_time(D, m, D.settings[0].repair_s))


@kernel
def machine_returns(D, R):
    m = D.machine_heap[0].id
    D.up[m] = True
    D.world[0].down -= 1
    touch(D, m)
    record_machine(D, R, m)
    next_of_first_machine(D, D.world[0].now + draw_time(D, m, D.settings[0].mean_time_to_failure_s))


@kernel
def job_arrives(D):
    world = D.world[0]
    j = world.next_arrival
    world.next_arrival = j + 1
    world.users = max(world.users, D.jobs[j].user + 1)
    join_queue(D, j)


@kernel
def room_for_records(D, R):
    """Whether whatever the next event or answer leaves behind can be recorded."""
    world = D.world[0]
    if R.segments.shape[0] == 0:
        return True
    waiting = world.tail - world.head
    return (
        world.segment_records + waiting <= R.segments.shape[0]
        and world.row_records + world.waiting_workers <= R.rows.shape[0]
        and world.decision_records + waiting + world.running <= R.decisions.shape[0]
        and world.speed_records + waiting + world.running <= R.speeds.shape[0]
        and world.machine_records < R.machines.shape[0]
    )


@kernel
def handle(D, R, kind):
    world = D.world[0]
    if kind == QUANTUM:
        world.quantum += 1
        world.changed = 1
        return
    world.events += 1
    if kind == MOOD:
        look_at_moods(D, world.look + 1)
        world.mood_due = 1
        return
    world.changed = 1
    if kind == COMPLETION:
        complete_job(D, R, D.heap[0].id, COMPLETED)
    elif kind == DOWN:
        machine_fails(D, R)
    elif kind == UP:
        machine_returns(D, R)
    else:
        job_arrives(D)


@kernel
def advance(D, R):
    """Run until a decision is needed, all is done, or there is no room for records."""
    world = D.world[0]
    while True:
        if not room_for_records(D, R):
            return RECORDS_FULL
        t, kind = next_event(D)
        if world.touched + world.mood_due > 0 and (t > world.now or kind == ASKING):
            settle(D, R)  # speeds are worked out when all that happens at one time has happened
            continue
        if world.complete == D.settings[0].num_jobs:
            return FINISHED
        world.now = t
        if kind == ASKING:
            world.changed = 0
            world.asked += 1
            return DECISION
        handle(D, R, kind)
