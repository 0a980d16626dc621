"""EASY backfilling, compiled: the twin of `heuristic/gpu/orders/easy_backfill`."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Reason
from dovetail.schedulers.kernels.gpu_codes import ARRAYS, KINDS, MACHINES, SLOWEST, TYPES, WHY
from dovetail.schedulers.kernels.gpu_placing import place_gang
from dovetail.schedulers.kernels.gpu_room import (
    TOLERANCE,
    Need,
    Room,
    give_back,
    holds,
    is_known_to_fail,
    no_failures,
    no_undo,
    remember_failure,
    take_back,
    take_device,
)
from dovetail.schedulers.kernels.jit import kernel

FIRST_ARRIVED, BACKFILLED = int(Reason.FIRST_ARRIVED), int(Reason.BACKFILLED)


@kernel
def copy_of(room):
    return Room(
        room.up,
        room.device.copy(),
        room.gpus.copy(),
        room.whole.copy(),
        room.cpus.copy(),
        room.memory.copy(),
        room.type,
        room.rack,
        room.has_gpus,
        room.has_cpus,
        room.has_memory,
    )


@kernel
def expected_speed(params, room, kind, machines):
    """Of a job of that kind on these machines if nobody disturbed it."""
    count = room.up.size
    types, kinds = int(params[TYPES]), int(params[KINDS])
    speeds = ARRAYS + 3 * count
    slowest = np.inf
    hosts, racks = 0, 0
    for i in range(machines.size):
        m = machines[i]
        slowest = min(slowest, params[speeds + kind * types + room.type[m]])
        new_host, new_rack = True, True
        for other in range(i):
            if machines[other] == m:
                new_host = False
            if room.rack[machines[other]] == room.rack[m]:
                new_rack = False
        hosts += new_host
        racks += new_rack
    apart = (1.0 - 1.0 / hosts) + (1.0 - 1.0 / racks)
    network = params[speeds + kinds * types + kind]
    return max(slowest / (1.0 + network * apart), SLOWEST)


@kernel
def release(view, room, run, first, end, shared):
    """What a running job holds; `first` to `end` are its rows, `shared` (M,) has a bit for each device with shares."""
    gpus = view.run_gpus[run]
    for row in range(first, end):
        m, device = view.row_machine[row], view.row_device[row]
        for _ in range(view.row_workers[row]):
            devices = 0
            if device >= 0:
                devices = 1 << device
            elif gpus >= 1.0:
                left = int(gpus)
                for d in range(int(room.has_gpus[m])):
                    taken = view.device_free[m, d] <= TOLERANCE and room.device[m, d] <= TOLERANCE
                    if left > 0 and taken and (shared[m] >> d) & 1 == 0:
                        devices |= 1 << d
                        left -= 1
            give_back(room, m, devices, gpus, view.run_cpus[run], view.run_memory[run])


@kernel
def run_backfill(view, params, state, jobs, room, placing, starts, machines, scores):
    why = int(params[WHY])
    workers = 1
    for j in range(jobs.size):
        workers = max(workers, view.job_workers[j])
    undo, failures = no_undo(workers, room.device.shape[1]), no_failures()
    ends = np.empty(jobs.size, np.float64)  # of those started here: when they are expected to end
    devices = np.empty(machines.size, np.int64)  # of each worker started here
    head, start_s, count, used = -1, np.inf, 0, 0
    then = room
    for j in range(jobs.size):
        need = need_of_job(view, state, j)
        fit, affinity = False, 0.0
        if used + need.workers <= machines.size and not is_known_to_fail(failures, need):
            fit, affinity = place_gang(room, need, j, placing, undo, machines[used:])
            if not fit:
                remember_failure(failures, need)
        if not fit:
            if head < 0:
                head = j
                then = copy_of(room)
                start_s = reserve(view, state, then, need, starts, machines, devices, ends, count)
            continue
        speed = expected_speed(params, room, need.kind, machines[used : used + need.workers])
        end_s = view.time_s + view.job_left_s[j] / speed
        if head >= 0 and start_s < np.inf and end_s > start_s:
            waits = need_of_job(view, state, head)
            if not put_there(then, need, undo, waits):
                take_back(room, undo, need.workers)
                continue
        for worker in range(need.workers):
            devices[used + worker] = undo.devices[worker]
        ends[count] = end_s
        starts[count, 0] = j
        starts[count, 1] = FIRST_ARRIVED if head < 0 else BACKFILLED
        starts[count, 2] = why
        scores[count, 0] = -float(j)
        scores[count, 1] = affinity
        count += 1
        used += need.workers
    return count


@kernel
def need_of_job(view, state, j):
    kind = view.job_kind[j]
    types = view.job_types[j] & state[MACHINES + 2 * view.machine_up.size + kind]
    return Need(view.job_gpus[j], view.job_cpus[j], view.job_memory[j], types, view.job_workers[j], kind)


@kernel
def reserve(view, state, then, head, starts, machines, devices, ends, count):
    """Let jobs end one after another until the head fits; that time, and `then` is what is free then."""
    runs = view.run_id.size
    all_ends = np.empty(runs + count, np.float64)
    for run in range(runs):
        all_ends[run] = view.time_s + view.run_left_s[run] / max(view.run_speed[run], SLOWEST)
    all_ends[runs:] = ends[:count]
    first_row = np.zeros(runs + 1, np.int64)
    shared = np.zeros(then.up.size, np.int64)
    for row in range(view.row_run.size):
        if view.row_device[row] >= 0:
            shared[view.row_machine[row]] |= 1 << view.row_device[row]
        first_row[view.row_run[row] + 1] = row + 1
    for run in range(runs):
        first_row[run + 1] = max(first_row[run + 1], first_row[run])
    first_worker = np.zeros(count + 1, np.int64)
    for i in range(count):
        first_worker[i + 1] = first_worker[i] + view.job_workers[starts[i, 0]]
    gpus = 0.0
    for m in range(then.up.size):
        gpus += then.gpus[m]
    ranks = np.argsort(all_ends, kind="mergesort")
    for place in range(ranks.size):
        one = ranks[place]
        if one < runs:
            release(view, then, one, first_row[one], first_row[one + 1], shared)
            gpus += view.run_workers[one] * view.run_gpus[one]
        else:
            j = starts[one - runs, 0]
            for worker in range(first_worker[one - runs], first_worker[one - runs + 1]):
                m = machines[worker]
                give_back(then, m, devices[worker], view.job_gpus[j], view.job_cpus[j], view.job_memory[j])
            gpus += view.job_workers[j] * view.job_gpus[j]
        if gpus + 1e-6 >= head.workers * head.gpus and holds(then, head):
            return all_ends[one]
    return np.inf


@kernel
def put_there(then, need, undo, head):
    """A job that outlasts the reservation takes its devices then as well.

    False, and nothing is taken, if the head would no longer fit.
    """
    before = no_undo(need.workers, then.device.shape[1])
    for worker in range(need.workers):
        m = undo.machine[worker]
        before.machine[worker] = m
        before.before[worker, 0] = then.gpus[m]
        before.before[worker, 1] = then.whole[m]
        before.before[worker, 2] = then.cpus[m]
        before.before[worker, 3] = then.memory[m]
        for d in range(then.device.shape[1]):
            before.before[worker, 4 + d] = then.device[m, d]
        for d in range(then.device.shape[1]):
            if (undo.devices[worker] >> d) & 1:
                take_device(then, m, d, min(need.gpus, 1.0))
        then.gpus[m] -= need.gpus
        then.cpus[m] -= need.cpus
        then.memory[m] -= need.memory
    if holds(then, head):
        return True
    take_back(then, before, need.workers)
    return False
