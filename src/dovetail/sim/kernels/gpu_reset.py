"""A fresh gpu world."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.gpu_chance import draw_time, lasting
from dovetail.sim.kernels.gpu_heap import add_machine
from dovetail.sim.kernels.gpu_speed import refresh
from dovetail.sim.kernels.gpu_state import TO_COME
from dovetail.sim.kernels.jit import kernel


@kernel
def reset(D):
    """Everything but what the workload and the cluster say is as at the beginning; records of before are forgotten."""
    world = D.world[0]
    world.next_arrival = 0
    world.head = 0
    world.tail = 0
    world.running = 0
    world.complete = 0
    world.heap_size = 0
    world.machine_heap_size = 0
    world.first_run = -1
    world.last_run = -1
    world.touched = 0
    world.dirty = 0
    world.stamp = 0
    world.changed = 0
    world.asked = 0
    world.again = 0
    world.look = 0
    world.quantum = 0
    world.users = 0
    world.down = 0
    world.mood_due = 0
    world.waiting_workers = 0
    world.shown = 0
    world.events = 0
    world.decisions = 0
    world.ops = 0
    world.refused = 0
    world.segment_records = 0
    world.row_records = 0
    world.decision_records = 0
    world.speed_records = 0
    world.machine_records = 0
    world.now = 0.0
    world.free_row = 0
    for r in range(D.rows.shape[0]):
        D.rows[r].next_of_job = r + 1
    for u in range(D.user_running.shape[0]):
        D.user_running[u] = 0
        D.user_used[u, 0] = 0.0
        D.user_used[u, 1] = 0.0
        D.user_used[u, 2] = 0.0
    for rack in range(D.racks.shape[0]):
        D.racks[rack] = 0
    for j in range(D.settings[0].num_jobs):
        reset_job(D, j)
    for m in range(D.settings[0].num_machines):
        machine = D.machines[m]
        machine.first_row = -1
        machine.mark = 0
        machine.look = -1
        machine.period = -1
        machine.draws = 0
        machine.seen = 0
        machine.lasting = lasting(D, m)
        machine.mood = machine.lasting
        D.up[m] = True
        refresh(D, m)
        if D.settings[0].mean_time_to_failure_s > 0.0:
            add_machine(D, m, draw_time(D, m, D.settings[0].mean_time_to_failure_s))


@kernel
def reset_job(D, j):
    job = D.jobs[j]
    job.state = TO_COME
    job.first_row = -1
    job.last_row = -1
    job.heap_place = -1
    job.machines = 0
    job.mark = 0
    job.stops = 0
    job.previous = -1
    job.next = -1
    job.segment = -1
    job.done_s = 0.0
    job.left_s = job.work_s
    job.since_s = 0.0
    job.speed = 0.0
    job.apart = 1.0
    job.start_s = np.nan
    job.first_start_s = np.nan
    job.finish_s = np.nan
    job.running_s = 0.0
    job.served_s = 0.0
    job.fee = 0.0
    job.fee_rate = 0.0
    job.alone = 0.0
    job.alone_s = 0.0
    job.speed_s = 0.0
