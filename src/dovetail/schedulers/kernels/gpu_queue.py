"""All orders and places that can be compiled, as one kernel; the rule arrives in `params` (see `gpu_codes`).

What is free only shrinks while jobs are being placed.  So jobs that cannot fit now are left out before anything is
sorted, and a demand that failed spares all larger ones the search: thousands of waiting jobs cost little.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuView, Ints
from dovetail.schedulers.kernels.gpu_backfill import run_backfill
from dovetail.schedulers.kernels.gpu_codes import (
    ARRAYS,
    CLASSES,
    COUNT,
    LAST_SEEN,
    LEAST_GPUS,
    MACHINES,
    MOST_CLASSES,
    MOST_CPUS,
    MOST_GPUS,
    MOST_MEMORY,
    ORDER,
    ORDER_KEY,
    ORDER_NUMBERS,
    PLACE,
    PLACE_KEY,
    REASON,
    SECOND_QUEUE_S,
    SEEN,
    TOTAL_CPUS,
    TOTAL_GPUS,
    TOTAL_MEMORY,
    WHY,
    OrderCode,
)
from dovetail.schedulers.kernels.gpu_placing import FGD, Placing, aligned, drawn, place_gang
from dovetail.schedulers.kernels.gpu_room import (
    TOLERANCE,
    Need,
    Room,
    fits,
    is_known_to_fail,
    no_failures,
    no_undo,
    remember_failure,
)
from dovetail.schedulers.kernels.jit import kernel

FIFO, SJF, SRTF, SMALLEST = int(OrderCode.FIFO), int(OrderCode.SJF), int(OrderCode.SRTF), int(OrderCode.SMALLEST)
DRF, LAS, RANDOM = int(OrderCode.DRF), int(OrderCode.LAS), int(OrderCode.RANDOM)
EASY_BACKFILL, TETRIS = int(OrderCode.EASY_BACKFILL), int(OrderCode.TETRIS)
SLACK = 1e-6  # of a sum of shares


def queue_kernel(view: GpuView, params: Floats, state: Ints, starts: Ints, machines: Ints, scores: Floats) -> int:
    order = int(params[ORDER])
    state[COUNT] += 1
    if int(params[PLACE]) == FGD:
        count_demands(view, params, state)
    strict = order == FIFO and params[ORDER_NUMBERS] > 0.0
    chosen = possible_jobs(view, strict or order == EASY_BACKFILL)
    if chosen.size == 0:
        return 0
    room = open_room(view, params, state)
    placing = open_placing(view, params, state)
    if order == EASY_BACKFILL:
        return run_backfill(view, params, state, chosen, room, placing, starts, machines, scores)
    if order == DRF:
        return run_drf(view, params, state, chosen, room, placing, starts, machines, scores)
    if order == TETRIS:
        return run_tetris(view, params, state, chosen, room, placing, starts, machines, scores)
    return run_sorted(view, params, state, chosen, room, placing, starts, machines, scores)


@kernel
def need_of(view, state, j):
    kind = view.job_kind[j]
    types = view.job_types[j] & state[MACHINES + 2 * view.machine_up.size + kind]
    return Need(view.job_gpus[j], view.job_cpus[j], view.job_memory[j], types, view.job_workers[j], kind)


@kernel
def possible_jobs(view, everybody):
    """Job indices that may fit: as far as the free GPUs of all machines and the best of each resource tell.

    `everybody`: all of them, because one that does not fit matters to others.
    """
    jobs = view.job_id.size
    found = np.empty(jobs, np.int64)
    if everybody:
        for j in range(jobs):
            found[j] = j
        return found
    gpus, whole, share, cpus, memory = 0.0, 0, 0.0, -1.0, -1.0
    for m in range(view.machine_up.size):
        if view.machine_up[m]:
            gpus += view.machine_gpus_free[m]
            whole = max(whole, view.machine_whole_free[m])
            cpus = max(cpus, view.machine_cpus_free[m])
            memory = max(memory, view.machine_memory_free[m])
            share = max(share, min(view.machine_gpus_free[m], 1.0))
    if whole > 0:
        share = 1.0
    count = 0
    for j in range(jobs):
        each = view.job_gpus[j]
        if each * view.job_workers[j] > gpus + SLACK:
            continue
        if (each >= 1.0 and each > whole) or (each < 1.0 and each > share + SLACK):
            continue
        if view.job_cpus[j] > cpus + TOLERANCE or view.job_memory[j] > memory + TOLERANCE:
            continue
        found[count] = j
        count += 1
    return found[:count]


@kernel
def open_room(view, params, state):
    m = view.machine_up.size
    return Room(
        view.machine_up,
        view.device_free.copy(),
        view.machine_gpus_free.copy(),
        view.machine_whole_free.copy(),
        view.machine_cpus_free.copy(),
        view.machine_memory_free.copy(),
        state[MACHINES : MACHINES + m],
        state[MACHINES + m : MACHINES + 2 * m],
        params[ARRAYS : ARRAYS + m],
        params[ARRAYS + m : ARRAYS + 2 * m],
        params[ARRAYS + 2 * m : ARRAYS + 3 * m],
    )


@kernel
def open_placing(view, params, state):
    m = view.machine_up.size
    return Placing(
        int(params[PLACE]),
        params[MOST_GPUS],
        params[MOST_CPUS],
        params[MOST_MEMORY],
        state[PLACE_KEY],
        state[COUNT],
        state[CLASSES:MACHINES].reshape(MOST_CLASSES, 5),
        state[SEEN],
        np.empty(m, np.float64),
        np.empty(m, np.int64),
    )


@kernel
def next_power(value):
    if value <= TOLERANCE:
        return 0
    power = 1
    while power + TOLERANCE < value:
        power *= 2
    return power


@kernel
def count_demands(view, params, state):
    """Jobs not seen before, by their demands."""
    classes = state[CLASSES:MACHINES].reshape(MOST_CLASSES, 5)
    last = state[LAST_SEEN]
    for j in range(view.job_id.size):
        if view.job_id[j] <= last:
            continue
        state[LAST_SEEN] = max(state[LAST_SEEN], view.job_id[j])
        need = need_of(view, state, j)
        gpus, cpus, memory = int(np.round(need.gpus * 1000.0)), next_power(need.cpus), next_power(need.memory)
        c = 0
        while c < state[SEEN] and not (
            classes[c, 0] == gpus and classes[c, 1] == cpus and classes[c, 2] == memory and classes[c, 3] == need.types
        ):
            c += 1
        if c == MOST_CLASSES:
            continue
        if c == state[SEEN]:
            classes[c, 0], classes[c, 1], classes[c, 2], classes[c, 3] = gpus, cpus, memory, need.types
            state[SEEN] += 1
        classes[c, 4] += 1


@kernel
def begin_job(starts, scores, count, j, reason, why, priority, affinity):
    starts[count, 0] = j
    starts[count, 1] = reason
    starts[count, 2] = why
    scores[count, 0] = priority
    scores[count, 1] = affinity


@kernel
def longest_gang(view, jobs):
    longest = 1
    for i in range(jobs.size):
        longest = max(longest, view.job_workers[jobs[i]])
    return longest


@kernel
def work_left(view, j):
    return view.job_left_s[j] * (view.job_workers[j] * max(view.job_gpus[j], LEAST_GPUS))


@kernel
def run_sorted(view, params, state, jobs, room, placing, starts, machines, scores):
    """Orders whose keys do not change as jobs are placed."""
    order = int(params[ORDER])
    keys = np.empty(jobs.size, np.float64)
    for i in range(jobs.size):
        j = jobs[i]
        if order == SJF or (order == SRTF and params[ORDER_NUMBERS] == 0.0):
            keys[i] = view.job_left_s[j]
        elif order == SRTF:
            keys[i] = work_left(view, j)
        elif order == SMALLEST:
            keys[i] = view.job_workers[j] * view.job_gpus[j]
        elif order == LAS:
            keys[i] = (SECOND_QUEUE_S if view.job_served_s[j] >= params[ORDER_NUMBERS] else 0.0) + view.job_arrival_s[j]
        elif order == RANDOM:
            keys[i] = drawn(state[ORDER_KEY], state[COUNT], j)
        else:
            keys[i] = j
    strict = order == FIFO and params[ORDER_NUMBERS] > 0.0
    undo, failures = no_undo(longest_gang(view, jobs), room.device.shape[1]), no_failures()
    ranks = np.arange(jobs.size) if order == FIFO else np.argsort(keys, kind="mergesort")
    count, used = 0, 0
    for place in range(jobs.size):
        i = ranks[place]
        j = jobs[i]
        need = need_of(view, state, j)
        fit, affinity = False, 0.0
        if used + need.workers <= machines.size and not is_known_to_fail(failures, need):
            fit, affinity = place_gang(room, need, j, placing, undo, machines[used:])
            if not fit:
                remember_failure(failures, need)
        if fit:
            begin_job(starts, scores, count, j, int(params[REASON]), int(params[WHY]), -keys[i], affinity)
            count += 1
            used += need.workers
        elif strict:
            break
    return count


@kernel
def comes_before(keys, jobs, a, b):
    return keys[a] < keys[b] or (keys[a] == keys[b] and jobs[a] < jobs[b])


@kernel
def sift_down(heap, size, keys, jobs, place):
    """`heap` holds positions of `jobs`, the one that comes before all others on top."""
    while True:
        least = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < size and comes_before(keys, jobs, heap[child], heap[least]):
                least = child
        if least == place:
            return
        heap[place], heap[least] = heap[least], heap[place]
        place = least


@kernel
def share_after(view, params, used, j):
    """The dominant share of the job's user once it runs."""
    user = view.job_user[j]
    workers = view.job_workers[j]
    share = (used[user, 0] + view.job_gpus[j] * workers) / params[TOTAL_GPUS]
    share = max(share, (used[user, 1] + view.job_cpus[j] * workers) / params[TOTAL_CPUS])
    return max(max(share, (used[user, 2] + view.job_memory[j] * workers) / params[TOTAL_MEMORY]), 0.0)


@kernel
def run_drf(view, params, state, jobs, room, placing, starts, machines, scores):
    """Keys only grow: the one on top is worked out anew, and taken if it is still on top."""
    used_by = view.user_used.copy()
    keys = np.empty(jobs.size, np.float64)
    for i in range(jobs.size):
        keys[i] = share_after(view, params, used_by, jobs[i])
    heap = np.arange(jobs.size)
    size = jobs.size
    for place in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, keys, jobs, place)
    undo, failures = no_undo(longest_gang(view, jobs), room.device.shape[1]), no_failures()
    count, used = 0, 0
    while size > 0:
        i = heap[0]
        j = jobs[i]
        now = share_after(view, params, used_by, j)
        if now > keys[i]:
            keys[i] = now
            sift_down(heap, size, keys, jobs, 0)
            continue
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, keys, jobs, 0)
        need = need_of(view, state, j)
        if used + need.workers > machines.size or is_known_to_fail(failures, need):
            continue
        fit, affinity = place_gang(room, need, j, placing, undo, machines[used:])
        if not fit:
            remember_failure(failures, need)
            continue
        begin_job(starts, scores, count, j, int(params[REASON]), int(params[WHY]), -keys[i], affinity)
        count += 1
        used += need.workers
        user = view.job_user[j]
        used_by[user, 0] += view.job_gpus[j] * need.workers
        used_by[user, 1] += view.job_cpus[j] * need.workers
        used_by[user, 2] += view.job_memory[j] * need.workers
    return count


@kernel
def best_alignment(room, need):
    """The largest of any machine, and which; -1 where the worker fits nowhere."""
    best, where = -np.inf, -1
    for m in range(room.up.size):
        if fits(room, m, need):
            found = aligned(room, m, need)
            if found > best:
                best, where = found, m
    return best, where


@kernel
def gpus_free(room):
    total = 0.0
    for m in range(room.up.size):
        total += room.gpus[m]
    return total


@kernel
def run_tetris(view, params, state, jobs, room, placing, starts, machines, scores):
    """As `run_drf`; the key of a job is stale only once its best machine has been used."""
    keys = np.empty(jobs.size, np.float64)
    where = np.empty(jobs.size, np.int64)
    heap = np.empty(jobs.size, np.int64)
    touched = np.zeros(room.up.size, np.int64)  # how many jobs had started when the machine was last used
    since = np.zeros(jobs.size, np.int64)  # how many had when the key was worked out
    failures = no_failures()
    total, sum_a, sum_p, size = gpus_free(room), 0.0, 0.0, 0
    for i in range(jobs.size):
        need = need_of(view, state, jobs[i])
        if need.workers * need.gpus > total + SLACK or is_known_to_fail(failures, need):
            continue
        keys[i], where[i] = best_alignment(room, need)
        if where[i] < 0:
            remember_failure(failures, Need(need.gpus, need.cpus, need.memory, need.types, 1, need.kind))
            continue
        sum_a += keys[i]
        sum_p += work_left(view, jobs[i])
        heap[size] = i
        size += 1
    scale = params[ORDER_NUMBERS] * (sum_a / sum_p) if sum_p > 0.0 else 0.0
    for place in range(size):
        i = heap[place]
        keys[i] = scale * work_left(view, jobs[i]) - keys[i]
    for place in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, keys, jobs, place)
    undo = no_undo(longest_gang(view, jobs), room.device.shape[1])
    count, used = 0, 0
    while size > 0:
        i = heap[0]
        j = jobs[i]
        need = need_of(view, state, j)
        fit, affinity, gone = False, 0.0, False
        if touched[where[i]] > since[i]:
            best, where[i] = best_alignment(room, need)
            since[i] = count
            if where[i] >= 0:
                keys[i] = scale * work_left(view, j) - best
                sift_down(heap, size, keys, jobs, 0)
                continue
            gone = True
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, keys, jobs, 0)
        if gone or used + need.workers > machines.size or is_known_to_fail(failures, need):
            continue
        fit, affinity = place_gang(room, need, j, placing, undo, machines[used:])
        if not fit:
            remember_failure(failures, need)
            continue
        begin_job(starts, scores, count, j, int(params[REASON]), int(params[WHY]), -keys[i], affinity)
        count += 1
        for worker in range(need.workers):
            touched[machines[used + worker]] = count
        used += need.workers
    return count
