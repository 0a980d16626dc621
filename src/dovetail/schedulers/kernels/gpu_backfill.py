"""EASY backfilling, compiled: the twin of `heuristic/gpu/orders/easy_backfill`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, Ints, Reason
from dovetail.schedulers.kernels.gpu_codes import ARRAYS, KINDS, MACHINES, SLOWEST, TYPES, WHY
from dovetail.schedulers.kernels.gpu_placing import place_gang
from dovetail.schedulers.kernels.gpu_room import (
    TOLERANCE,
    Need,
    Undo,
    give_back,
    holds,
    is_known_to_fail,
    no_undo,
    remember_failure,
    take_back,
    take_device,
)
from dovetail.schedulers.kernels.jit import bare, kernel

FIRST_ARRIVED, BACKFILLED = int(Reason.FIRST_ARRIVED), int(Reason.BACKFILLED)


class Tally(NamedTuple):
    """What a reservation is worked out from; N jobs started here at most, R running ones, W workers."""

    ends: Floats  # (N,) of those started here: when they are expected to end
    devices: Ints  # (W,) a bit for each device of each worker started here
    before: Undo  # what was free at the time of the reservation
    all_ends: Floats  # (R + N,)
    ranks: Ints  # (R + N,)
    first_row: Ints  # (R + 1,)
    first_worker: Ints  # (N + 1,)
    shared: Ints  # (M,) a bit for each device with shares


@kernel
def open_tally(view, jobs, workers):
    runs = view.run_id.size
    return Tally(
        np.empty(jobs, np.float64),
        np.empty(workers, np.int64),
        no_undo(max(1, view.job_workers.max()), view.device_free.shape[1]),
        np.empty(runs + jobs, np.float64),
        np.empty(runs + jobs, np.int64),
        np.zeros(runs + 1, np.int64),
        np.zeros(jobs + 1, np.int64),
        np.zeros(view.machine_up.size, np.int64),
    )


@bare
def copy_room(room, into):
    for m in range(room.up.size):
        into.gpus[m] = room.gpus[m]
        into.whole[m] = room.whole[m]
        into.cpus[m] = room.cpus[m]
        into.memory[m] = room.memory[m]
        for d in range(room.device.shape[1]):
            into.device[m, d] = room.device[m, d]


@bare
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


@bare
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


@bare
def run_backfill(view, params, state, room, placing, undo, failures, then, tally, starts, machines, scores):
    why = int(params[WHY])
    head, start_s, count, used = -1, np.inf, 0, 0
    for j in range(view.job_id.size):
        need = need_of_job(view, state, j)
        fit, affinity = False, 0.0
        if used + need.workers <= machines.size and not is_known_to_fail(failures, need):
            fit, affinity = place_gang(room, need, j, placing, undo, machines[used:])
            if not fit:
                remember_failure(failures, need)
        if not fit:
            if head < 0:
                head = j
                copy_room(room, then)
                start_s = reserve(view, then, need, tally, starts, machines, count)
            continue
        speed = expected_speed(params, room, need.kind, machines[used : used + need.workers])
        end_s = view.time_s + view.job_left_s[j] / speed
        if head >= 0 and start_s < np.inf and end_s > start_s:
            waits = need_of_job(view, state, head)
            if not put_there(then, need, undo, waits, tally.before):
                take_back(room, undo, need.workers)
                continue
        for worker in range(need.workers):
            tally.devices[used + worker] = undo.devices[worker]
        tally.ends[count] = end_s
        starts[count, 0] = j
        starts[count, 1] = FIRST_ARRIVED if head < 0 else BACKFILLED
        starts[count, 2] = why
        scores[count, 0] = -float(j)
        scores[count, 1] = affinity
        count += 1
        used += need.workers
    return count


@bare
def need_of_job(view, state, j):
    kind = view.job_kind[j]
    types = view.job_types[j] & state[MACHINES + 2 * view.machine_up.size + kind]
    return Need(view.job_gpus[j], view.job_cpus[j], view.job_memory[j], types, view.job_workers[j], kind)


@bare
def sort_ends(ends, ranks, count):
    """Positions in order of end, equal ends in order of position: a heap with the last on top, taken apart."""
    for i in range(count):
        ranks[i] = i
    for start in range(count // 2 - 1, -1, -1):
        sink(ends, ranks, start, count)
    for size in range(count - 1, 0, -1):
        ranks[0], ranks[size] = ranks[size], ranks[0]
        sink(ends, ranks, 0, size)


@bare
def sink(ends, ranks, place, size):
    while True:
        last = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < size:
                a, b = ranks[child], ranks[last]
                if ends[a] > ends[b] or (ends[a] == ends[b] and a > b):
                    last = child
        if last == place:
            return
        ranks[place], ranks[last] = ranks[last], ranks[place]
        place = last


@bare
def reserve(view, then, head, tally, starts, machines, count):
    """Let jobs end one after another until the head fits; that time, and `then` is what is free then."""
    runs = view.run_id.size
    for run in range(runs):
        tally.all_ends[run] = view.time_s + view.run_left_s[run] / max(view.run_speed[run], SLOWEST)
    for i in range(count):
        tally.all_ends[runs + i] = tally.ends[i]
    for row in range(view.row_run.size):
        if view.row_device[row] >= 0:
            tally.shared[view.row_machine[row]] |= 1 << view.row_device[row]
        tally.first_row[view.row_run[row] + 1] = row + 1
    for run in range(runs):
        tally.first_row[run + 1] = max(tally.first_row[run + 1], tally.first_row[run])
    for i in range(count):
        tally.first_worker[i + 1] = tally.first_worker[i] + view.job_workers[starts[i, 0]]
    gpus = 0.0
    for m in range(then.up.size):
        gpus += then.gpus[m]
    sort_ends(tally.all_ends, tally.ranks, runs + count)
    for place in range(runs + count):
        one = tally.ranks[place]
        if one < runs:
            release(view, then, one, tally.first_row[one], tally.first_row[one + 1], tally.shared)
            gpus += view.run_workers[one] * view.run_gpus[one]
        else:
            j = starts[one - runs, 0]
            for worker in range(tally.first_worker[one - runs], tally.first_worker[one - runs + 1]):
                m = machines[worker]
                give_back(then, m, tally.devices[worker], view.job_gpus[j], view.job_cpus[j], view.job_memory[j])
            gpus += view.job_workers[j] * view.job_gpus[j]
        if gpus + 1e-6 >= head.workers * head.gpus and holds(then, head):
            return tally.all_ends[one]
    return np.inf


@bare
def put_there(then, need, undo, head, before):
    """A job that outlasts the reservation takes its devices then as well.

    False, and nothing is taken, if the head would no longer fit.
    """
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
