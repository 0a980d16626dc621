"""Carrying out what a scheduler says: all of an answer, or nothing."""

from __future__ import annotations

from dovetail.sim.kernels.gpu_chance import last_multiple, look_at_moods
from dovetail.sim.kernels.gpu_moves import start_job, stop_job
from dovetail.sim.kernels.gpu_queue import leave_queue
from dovetail.sim.kernels.gpu_rows import free_rows, misfit, place_worker, relink_job, unlink_job
from dovetail.sim.kernels.gpu_speed import refresh
from dovetail.sim.kernels.gpu_state import (
    BAD_COUNT,
    BAD_REASON,
    JOB_ID,
    NAMED_TWICE,
    NO_PREEMPTION,
    NO_SUCH_JOB,
    NO_SUCH_RUN,
    OK,
    ORDER_JOB,
    ORDER_MACHINES,
    ORDER_PLACE,
    ORDER_REASON,
    ORDER_STOPS,
    RUN_ID,
    RUNNING,
    STALLED,
    STARTING,
    STOP_WITH_MACHINES,
    STOPPING,
    STOPS_AGAIN,
    WAITING,
    WRONG_NUMBER,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def try_stop(D, B, order):
    """A job gives its places back, for the orders that follow."""
    world = D.world[0]
    if D.settings[0].preemption == 0:
        return NO_PREEMPTION
    if world.again == 1:
        return STOPS_AGAIN
    if order[ORDER_JOB] < 0 or order[ORDER_JOB] >= world.shown:
        return NO_SUCH_RUN
    if order[ORDER_MACHINES] != 0:
        return STOP_WITH_MACHINES
    j = B.run_ints[RUN_ID, order[ORDER_JOB]]
    if D.jobs[j].state != RUNNING:
        return NAMED_TWICE
    unlink_job(D, j)
    r = D.jobs[j].first_row
    while r != -1:
        refresh(D, D.rows[r].machine)
        r = D.rows[r].next_of_job
    D.jobs[j].state = STOPPING
    D.ops[world.ops] = j
    world.ops += 1
    return OK


@kernel
def try_start(D, order, machines, first):
    """The workers of a job take their places, for now."""
    world = D.world[0]
    if order[ORDER_JOB] < 0 or order[ORDER_JOB] >= world.tail - world.head:
        return NO_SUCH_JOB
    j = D.queue_ints[JOB_ID, world.head + order[ORDER_JOB]]
    if D.jobs[j].state != WAITING:
        return NAMED_TWICE
    if order[ORDER_MACHINES] != D.jobs[j].workers:
        return WRONG_NUMBER
    D.jobs[j].state = STARTING
    D.jobs[j].first_row = -1
    D.ops[world.ops] = j
    world.ops += 1
    for worker in range(D.jobs[j].workers):
        m = machines[first + worker]
        why = misfit(D, j, m)
        if why != OK:
            world.refused_worker = worker
            world.refused_machine = m
            return why
        place_worker(D, j, m)
    return OK


@kernel
def take_back(D):
    """Undo all that has been tried, the last first: everything is as before, to the last bit."""
    world = D.world[0]
    for back in range(world.ops):
        j = D.ops[world.ops - 1 - back]
        if D.jobs[j].state == STARTING:
            unlink_job(D, j)
            free_rows(D, j)
            D.jobs[j].state = WAITING
        else:
            relink_job(D, j)
            D.jobs[j].state = RUNNING
    world.ops = 0
    for i in range(world.touched):
        D.machines[D.touched[i]].mark = 0
        refresh(D, D.touched[i])
    world.touched = 0
    for i in range(world.dirty):  # speeds are what they were
        D.jobs[D.dirty[i]].mark = 0
    world.dirty = 0


@kernel
def try_all(D, B, orders, count, machines):
    """Why the answer cannot be carried out, or OK; then all of it has been tried."""
    world = D.world[0]
    world.ops = 0
    if count < 0 or count > D.settings[0].num_jobs:
        return BAD_COUNT
    first = 0
    stops = 0
    for i in range(count):
        order = orders[i]
        world.refused_order = i
        world.refused_worker = -1
        if order[ORDER_REASON] < 0 or order[ORDER_REASON] >= D.settings[0].num_reasons:
            return BAD_REASON
        if order[ORDER_PLACE] < 0 or order[ORDER_PLACE] >= D.settings[0].num_places:
            return BAD_REASON
        if order[ORDER_STOPS] != 0:
            why = try_stop(D, B, order)
            stops += 1
        else:
            why = try_start(D, order, machines, first)
        if why != OK:
            return why
        first += order[ORDER_MACHINES]
    if count == 0 and world.running == 0 and world.next_arrival == D.settings[0].num_jobs and world.down == 0:
        return STALLED
    return OK


@kernel
def record_decision(D, R, j, order, scores, waiting):
    world = D.world[0]
    row = R.decisions[world.decision_records]
    row.time_s = world.now
    row.asked = world.asked
    row.job = j
    row.stops = order[ORDER_STOPS]
    row.reason = order[ORDER_REASON]
    row.place = order[ORDER_PLACE]
    row.segment = D.jobs[j].segment
    row.waiting = waiting
    row.priority = scores[0]
    row.affinity = scores[1]
    world.decision_records += 1


@kernel
def answer(D, B, R, orders, count, machines, scores):
    """Carry out an answer; OK, or why not: then nothing has changed."""
    world = D.world[0]
    why = try_all(D, B, orders, count, machines)
    if why != OK:
        take_back(D)
        world.refused = why
        return why
    waiting = world.tail - world.head
    if D.settings[0].mood_sigma > 0.0 and world.running == 0 and count > 0:  # nobody has looked while nothing ran
        look_at_moods(D, last_multiple(world.now, D.settings[0].mood_every_s))
    first = world.tail
    last = -1
    stops = 0
    for i in range(count):
        j = D.ops[i]
        if D.jobs[j].state == STARTING:
            start_job(D, R, j)
            place = world.head + orders[i, ORDER_JOB]
            first = min(first, place)
            last = max(last, place)
        else:
            stops += 1
        if R.segments.shape[0] > 0:
            record_decision(D, R, j, orders[i], scores[i], waiting)
    if last >= 0:
        leave_queue(D, first, last)
    if stops > 0:
        for i in range(count):
            if D.jobs[D.ops[i]].state == STOPPING:
                stop_job(D, R, D.ops[i])
    world.ops = 0
    world.decisions += count
    world.again = 1 if stops > 0 else 0
    if stops > 0:
        world.changed = 1
    return OK
