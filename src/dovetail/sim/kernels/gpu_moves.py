"""Jobs start, and stop running: because they are complete, because they are told to, or because a machine is lost."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.gpu_heap import drop_completion
from dovetail.sim.kernels.gpu_queue import join_queue
from dovetail.sim.kernels.gpu_rows import free_rows, unlink_job
from dovetail.sim.kernels.gpu_speed import accrue
from dovetail.sim.kernels.gpu_state import COMPLETE, MACHINE_LOST, NETWORK, RUNNING, SPEED, STILL_RUNS, STOPPED
from dovetail.sim.kernels.jit import kernel


@kernel
def survey(D, j):
    """What depends on where job j stands, but not on its neighbours: price, network, speed alone."""
    world = D.world[0]
    settings = D.settings[0]
    job = D.jobs[j]
    world.stamp += 1
    at = job.kind * settings.width
    machines = 0
    racks = 0
    price = 0.0
    alone = np.inf
    r = job.first_row
    while r != -1:
        row = D.rows[r]
        machine = D.machines[row.machine]
        price += row.workers * D.prices[machine.type]
        alone = min(alone, D.kinds[at + SPEED + machine.type])
        if machine.seen != world.stamp:
            machine.seen = world.stamp
            machines += 1
            if D.racks[machine.rack] != world.stamp:
                D.racks[machine.rack] = world.stamp
                racks += 1
        r = row.next_of_job
    apart = settings.machine_hop * (1.0 - 1.0 / machines) + settings.rack_hop * (1.0 - 1.0 / racks)
    job.machines = machines
    job.apart = 1.0 / (1.0 + D.kinds[at + NETWORK] * apart)
    job.fee_rate = price * job.gpus
    job.alone = alone


@kernel
def start_job(D, R, j):
    """Job j, whose rows stand, runs from now on."""
    world = D.world[0]
    now = world.now
    job = D.jobs[j]
    job.state = RUNNING
    survey(D, j)
    job.start_s = now
    if np.isnan(job.first_start_s):
        job.first_start_s = now
    job.left_s = job.work_s - job.done_s
    if job.stops > 0:
        job.left_s += D.settings[0].restart_s
    job.since_s = now
    job.speed = 0.0
    job.previous = world.last_run
    job.next = -1
    if world.last_run == -1:
        world.first_run = j
    else:
        D.jobs[world.last_run].next = j
    world.last_run = j
    world.running += 1
    world.waiting_workers -= job.workers
    used = D.user_used[job.user]
    used[0] += job.workers * job.gpus
    used[1] += job.workers * job.cpus
    used[2] += job.workers * job.memory
    D.user_running[job.user] += 1
    if R.segments.shape[0] > 0:
        record_start(D, R, j)


@kernel
def record_start(D, R, j):
    world = D.world[0]
    i = world.segment_records
    D.jobs[j].segment = i
    world.segment_records = i + 1
    segment = R.segments[i]
    segment.job = j
    segment.why = STILL_RUNS
    segment.first_row = world.row_records
    segment.start_s = world.now
    segment.end_s = np.nan
    r = D.jobs[j].first_row
    while r != -1:
        row = R.rows[world.row_records]
        row.segment = i
        row.machine = D.rows[r].machine
        row.gpu = D.rows[r].gpu
        row.workers = D.rows[r].workers
        row.mask = D.rows[r].mask
        world.row_records += 1
        r = D.rows[r].next_of_job
    segment.rows = world.row_records - segment.first_row


@kernel
def end_run(D, R, j, why):
    """Job j, whose rows are in no machine's list any more, does not run from now on; all but its work is counted."""
    world = D.world[0]
    job = D.jobs[j]
    span = world.now - job.start_s
    job.running_s += span
    job.served_s += span * (job.workers * job.gpus)
    job.fee += span / 3600.0 * job.fee_rate
    job.alone_s += span * job.alone
    free_rows(D, j)
    drop_completion(D, j)
    if job.previous == -1:
        world.first_run = job.next
    else:
        D.jobs[job.previous].next = job.next
    if job.next == -1:
        world.last_run = job.previous
    else:
        D.jobs[job.next].previous = job.previous
    world.running -= 1
    used = D.user_used[job.user]
    used[0] -= job.workers * job.gpus
    used[1] -= job.workers * job.cpus
    used[2] -= job.workers * job.memory
    D.user_running[job.user] -= 1
    if D.user_running[job.user] == 0:  # rounding goes with the last of them
        used[:] = 0.0
    if R.segments.shape[0] > 0:
        R.segments[job.segment].end_s = world.now
        R.segments[job.segment].why = why


@kernel
def complete_job(D, R, j, why):
    job = D.jobs[j]
    job.speed_s += job.left_s
    job.left_s = 0.0
    job.done_s = job.work_s
    job.since_s = D.world[0].now
    unlink_job(D, j)
    end_run(D, R, j, why)
    job.state = COMPLETE
    job.finish_s = D.world[0].now
    D.world[0].complete += 1


@kernel
def back_to_queue(D, R, j, why):
    """Job j, unlinked, waits again: with all the work it has done, or what was saved of it if a machine was lost."""
    job = D.jobs[j]
    accrue(D, j)
    done = max(job.done_s, job.work_s - job.left_s)  # of what a restart costs nothing is progress
    every = D.settings[0].checkpoint_s
    if why == MACHINE_LOST and every > 0.0:
        done = max(job.done_s, np.floor(done / every) * every)
    job.done_s = done
    job.stops += 1
    end_run(D, R, j, why)
    join_queue(D, j)


@kernel
def stop_job(D, R, j):
    """A decision has stopped job j; its rows were unlinked when the answer was looked at."""
    back_to_queue(D, R, j, STOPPED)
