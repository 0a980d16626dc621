"""What a scheduler sees of the gpu world, and whole runs of a compiled one."""

from __future__ import annotations

from dovetail.core.gpu import GpuView
from dovetail.sim.kernels.gpu_decisions import answer
from dovetail.sim.kernels.gpu_events import advance
from dovetail.sim.kernels.gpu_queue import known_left
from dovetail.sim.kernels.gpu_state import (
    BAD_COUNT,
    DECISION,
    FREE_CPUS,
    FREE_GPUS,
    FREE_MEMORY,
    INVALID,
    JOB_ARRIVAL,
    JOB_CPUS,
    JOB_GPUS,
    JOB_ID,
    JOB_KIND,
    JOB_LEFT,
    JOB_MEMORY,
    JOB_SERVED,
    JOB_STOPS,
    JOB_TYPES,
    JOB_USER,
    JOB_WORKERS,
    OK,
    ORDER_JOB,
    ORDER_MACHINES,
    ORDER_PLACE,
    ORDER_REASON,
    ORDER_STOPS,
    ROW_DEVICE,
    ROW_MACHINE,
    ROW_RUN,
    ROW_WORKERS,
    ROWS,
    RUN,
    RUN_ARRIVAL,
    RUN_CPUS,
    RUN_GPUS,
    RUN_ID,
    RUN_KIND,
    RUN_LEFT,
    RUN_MEMORY,
    RUN_SERVED,
    RUN_SPEED,
    RUN_START,
    RUN_TYPES,
    RUN_USER,
    RUN_WORKERS,
    USERS,
    WAIT,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def observe(D, B, with_running, counts):
    """Write down the running jobs and their rows, if they are wanted; `counts` says how much of everything there is."""
    world = D.world[0]
    runs = 0
    rows = 0
    j = world.first_run if with_running else -1
    while j != -1:
        job = D.jobs[j]
        since = world.now - job.since_s
        left = max(job.left_s - job.speed * since, 0.0)
        B.run_ints[RUN_ID, runs] = j
        B.run_ints[RUN_USER, runs] = job.user
        B.run_ints[RUN_KIND, runs] = job.kind
        B.run_ints[RUN_WORKERS, runs] = job.workers
        B.run_ints[RUN_TYPES, runs] = job.types
        B.run_floats[RUN_ARRIVAL, runs] = job.arrival_s
        B.run_floats[RUN_START, runs] = job.start_s
        B.run_floats[RUN_GPUS, runs] = job.gpus
        B.run_floats[RUN_CPUS, runs] = job.cpus
        B.run_floats[RUN_MEMORY, runs] = job.memory
        B.run_floats[RUN_LEFT, runs] = known_left(D, j, max(job.done_s, job.work_s - left))
        B.run_floats[RUN_SERVED, runs] = job.served_s + (world.now - job.start_s) * (job.workers * job.gpus)
        B.run_floats[RUN_SPEED, runs] = job.speed
        r = job.first_row
        while r != -1:
            B.row_ints[ROW_RUN, rows] = runs
            B.row_ints[ROW_MACHINE, rows] = D.rows[r].machine
            B.row_ints[ROW_WORKERS, rows] = D.rows[r].workers
            B.row_ints[ROW_DEVICE, rows] = D.rows[r].gpu
            rows += 1
            r = D.rows[r].next_of_job
        runs += 1
        j = job.next
    world.shown = runs
    counts[WAIT] = world.tail - world.head
    counts[RUN] = runs
    counts[ROWS] = rows
    counts[USERS] = world.users


@kernel
def view_of(D, B, counts):
    """The view; machines, users and waiting jobs are the state itself."""
    head = D.world[0].head
    tail = D.world[0].tail
    runs = counts[RUN]
    rows = counts[ROWS]
    return GpuView(
        D.world[0].now,
        D.queue_ints[JOB_ID][head:tail],
        D.queue_floats[JOB_ARRIVAL][head:tail],
        D.queue_ints[JOB_USER][head:tail],
        D.queue_ints[JOB_KIND][head:tail],
        D.queue_ints[JOB_WORKERS][head:tail],
        D.queue_floats[JOB_GPUS][head:tail],
        D.queue_floats[JOB_CPUS][head:tail],
        D.queue_floats[JOB_MEMORY][head:tail],
        D.queue_ints[JOB_TYPES][head:tail],
        D.queue_floats[JOB_LEFT][head:tail],
        D.queue_floats[JOB_SERVED][head:tail],
        D.queue_ints[JOB_STOPS][head:tail],
        B.run_ints[RUN_ID][:runs],
        B.run_floats[RUN_ARRIVAL][:runs],
        B.run_floats[RUN_START][:runs],
        B.run_ints[RUN_USER][:runs],
        B.run_ints[RUN_KIND][:runs],
        B.run_ints[RUN_WORKERS][:runs],
        B.run_floats[RUN_GPUS][:runs],
        B.run_floats[RUN_CPUS][:runs],
        B.run_floats[RUN_MEMORY][:runs],
        B.run_ints[RUN_TYPES][:runs],
        B.run_floats[RUN_LEFT][:runs],
        B.run_floats[RUN_SERVED][:runs],
        B.run_floats[RUN_SPEED][:runs],
        B.row_ints[ROW_RUN][:rows],
        B.row_ints[ROW_MACHINE][:rows],
        B.row_ints[ROW_WORKERS][:rows],
        B.row_ints[ROW_DEVICE][:rows],
        D.up,
        D.device_free,
        D.free[FREE_GPUS],
        D.whole_free,
        D.free[FREE_CPUS],
        D.free[FREE_MEMORY],
        D.user_used[: counts[USERS]],
    )


@kernel
def step(D, B, R, counts):
    """For a scheduler in Python: run on, and write the next view."""
    status = advance(D, R)
    if status == DECISION:
        observe(D, B, True, counts)
    return status


@kernel
def take_starts(D, B, R, count):
    """Carry out the answer of a compiled scheduler, which is in the buffers.  OK, or why not."""
    world = D.world[0]
    waiting = world.tail - world.head
    if count < 0 or count > waiting:
        world.refused = BAD_COUNT
        world.refused_order = count
        return BAD_COUNT
    for i in range(count):
        j = B.starts[i, 0]
        B.orders[i, ORDER_JOB] = j
        B.orders[i, ORDER_STOPS] = 0
        B.orders[i, ORDER_REASON] = B.starts[i, 1]
        B.orders[i, ORDER_PLACE] = B.starts[i, 2]
        B.orders[i, ORDER_MACHINES] = D.queue_ints[JOB_WORKERS, world.head + j] if 0 <= j < waiting else 0
    return answer(D, B, R, B.orders, count, B.starts_machines, B.starts_scores)


@kernel
def run_compiled(function, params, memory, wants_running, D, B, R, counts):
    """A whole run without entering Python.  Returns what `advance` returned last, or INVALID."""
    while True:
        status = advance(D, R)
        if status != DECISION:
            return status
        observe(D, B, wants_running, counts)
        count = function(view_of(D, B, counts), params, memory, B.starts, B.starts_machines, B.starts_scores)
        if take_starts(D, B, R, count) != OK:
            return INVALID
