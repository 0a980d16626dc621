"""All orders and places that can be compiled, as one kernel; the rule arrives in `params` (see `gpu_codes`).

What is free only shrinks while jobs are being placed.  So jobs that cannot fit now (`gpu_limits`) are left out before
anything is copied or sorted, and a demand that failed spares all larger ones the search: thousands of waiting jobs cost
little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, GpuView, Ints
from dovetail.schedulers.kernels.gpu_backfill import open_tally, run_backfill
from dovetail.schedulers.kernels.gpu_codes import (
    ARRAYS,
    CLASSES,
    COUNT,
    KINDS,
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
    TYPES,
    WHY,
    OrderCode,
)
from dovetail.schedulers.kernels.gpu_limits import FEW, FRESH, SLACK, STALE, Limits, measure_limits, no_limits, within
from dovetail.schedulers.kernels.gpu_placing import FGD, Placing, aligned, drawn, place_gang
from dovetail.schedulers.kernels.gpu_room import (
    TOLERANCE,
    Failures,
    Need,
    Room,
    Undo,
    fits,
    is_known_to_fail,
    no_failures,
    no_undo,
    remember_failure,
)
from dovetail.schedulers.kernels.jit import bare, kernel

FIFO, SJF, SRTF, SMALLEST = int(OrderCode.FIFO), int(OrderCode.SJF), int(OrderCode.SRTF), int(OrderCode.SMALLEST)
DRF, LAS, RANDOM = int(OrderCode.DRF), int(OrderCode.LAS), int(OrderCode.RANDOM)
EASY_BACKFILL, TETRIS = int(OrderCode.EASY_BACKFILL), int(OrderCode.TETRIS)


def queue_kernel(view: GpuView, params: Floats, state: Ints, starts: Ints, machines: Ints, scores: Floats) -> int:
    order = int(params[ORDER])
    state[COUNT] += 1
    if int(params[PLACE]) == FGD:
        count_demands(view, state)
    jobs = np.empty(view.job_id.size, np.int64)
    strict = order == FIFO and params[ORDER_NUMBERS] > 0.0
    limits = no_limits(view.device_free.shape[1])
    if view.job_id.size > FEW:
        measure_limits(see_room(view, params, state), limits)
    count = possible_jobs(view, state, limits, strict or order == EASY_BACKFILL, order != TETRIS, jobs)
    if count == 0:
        return 0
    room = open_room(view, params, state)
    placing = open_placing(view, params, state)
    queue = Queue(jobs[:count], np.empty(count, np.float64), np.empty(count, np.int64))
    undo, failures = no_undo(longest_gang(view, jobs[:count]), view.device_free.shape[1]), no_failures()
    if order == EASY_BACKFILL:
        then = open_room(view, params, state)
        tally = open_tally(view, count, machines.size)
        return run_backfill(view, params, state, room, placing, undo, failures, then, tally, starts, machines, scores)
    trial = Trial(room, placing, undo, failures, limits)
    if order == DRF:
        return run_drf(view, params, state, queue, trial, view.user_used.copy(), starts, machines, scores)
    if order == TETRIS:
        stale = Stale(np.empty(count, np.int64), np.zeros(count, np.int64), np.zeros(view.machine_up.size, np.int64))
        return run_tetris(view, params, state, queue, trial, stale, starts, machines, scores)
    return run_sorted(view, params, state, queue, trial, starts, machines, scores)


class Queue(NamedTuple):
    """Jobs to be taken; `heap` holds positions of `job`, the one that comes before all others on top."""

    job: Ints  # (n,) job indices, in order
    key: Floats  # (n,)
    heap: Ints  # (n,)


class Trial(NamedTuple):
    """What it takes to try a gang."""

    room: Room
    placing: Placing
    undo: Undo
    failures: Failures
    limits: Limits


class Stale(NamedTuple):
    """Which alignments must be worked out anew; counts are of the jobs that had started by then."""

    where: Ints  # (n,) the machine that matches best
    since: Ints  # (n,) when that was worked out
    touched: Ints  # (M,) when the machine was used last


@bare
def need_of(view, state, j):
    kind = view.job_kind[j]
    types = view.job_types[j] & state[MACHINES + 2 * view.machine_up.size + kind]
    return Need(view.job_gpus[j], view.job_cpus[j], view.job_memory[j], types, view.job_workers[j], kind)


@bare
def possible_jobs(view, state, limits, everybody, gangs, found):
    """Job indices that may fit, into `found`; without `gangs`, those of which a worker may.

    `everybody`: all of them, because one that does not fit matters to others.  Returns how many.
    """
    kinds = MACHINES + 2 * view.machine_up.size
    count = 0
    for j in range(view.job_id.size):
        if everybody or within(
            limits,
            view.job_gpus[j],
            view.job_cpus[j],
            view.job_memory[j],
            view.job_types[j] & state[kinds + view.job_kind[j]],
            view.job_workers[j],
            gangs,
        ):
            found[count] = j
            count += 1
    return count


@kernel
def see_room(view, params, state):
    """As it is, to be looked at only."""
    m = view.machine_up.size
    return Room(
        view.machine_up,
        view.device_free,
        view.machine_gpus_free,
        view.machine_whole_free,
        view.machine_cpus_free,
        view.machine_memory_free,
        state[MACHINES : MACHINES + m],
        state[MACHINES + m : MACHINES + 2 * m],
        params[ARRAYS : ARRAYS + m],
        params[ARRAYS + m : ARRAYS + 2 * m],
        params[ARRAYS + 2 * m : ARRAYS + 3 * m],
    )


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
        int(params[TYPES]),
        params[ARRAYS + 3 * m : ARRAYS + 3 * m + int(params[KINDS]) * int(params[TYPES])],
        np.empty(m, np.float64),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.empty(count_racks(state[MACHINES + m : MACHINES + 2 * m]), np.int64),
    )


@bare
def count_racks(racks):
    most = 0
    for m in range(racks.size):
        most = max(most, racks[m] + 1)
    return most


@bare
def next_power(value):
    if value <= TOLERANCE:
        return 0
    power = 1
    while power + TOLERANCE < value:
        power *= 2
    return power


@bare
def count_demands(view, state):
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


@bare
def begin_job(starts, scores, count, j, reason, why, priority, affinity):
    starts[count, 0] = j
    starts[count, 1] = reason
    starts[count, 2] = why
    scores[count, 0] = priority
    scores[count, 1] = affinity


@bare
def longest_gang(view, jobs):
    longest = 1
    for i in range(jobs.size):
        longest = max(longest, view.job_workers[jobs[i]])
    return longest


@bare
def work_left(view, j):
    return view.job_left_s[j] * (view.job_workers[j] * max(view.job_gpus[j], LEAST_GPUS))


@bare
def run_sorted(view, params, state, queue, trial, starts, machines, scores):
    """Orders whose keys do not change as jobs are placed."""
    limits, failures = trial.limits, trial.failures
    order = int(params[ORDER])
    size = queue.job.size
    for i in range(size):
        j = queue.job[i]
        if order == SJF or (order == SRTF and params[ORDER_NUMBERS] == 0.0):
            queue.key[i] = view.job_left_s[j]
        elif order == SRTF:
            queue.key[i] = work_left(view, j)
        elif order == SMALLEST:
            queue.key[i] = view.job_workers[j] * view.job_gpus[j]
        elif order == LAS:
            second = view.job_served_s[j] >= params[ORDER_NUMBERS]
            queue.key[i] = (SECOND_QUEUE_S if second else 0.0) + view.job_arrival_s[j]
        elif order == RANDOM:
            queue.key[i] = drawn(state[ORDER_KEY], state[COUNT], j)
        else:
            queue.key[i] = j
    if order != FIFO:
        heapify(queue, size)
    strict = order == FIFO and params[ORDER_NUMBERS] > 0.0
    count, used = 0, 0
    for place in range(queue.job.size):
        i = place
        if order != FIFO:
            i = pop(queue, size)
            size -= 1
        j = queue.job[i]
        need = need_of(view, state, j)
        fit, affinity = False, 0.0
        if may_fit(limits, failures, need, machines.size - used):
            fit, affinity = try_gang(trial, need, j, machines[used:])
        if fit:
            begin_job(starts, scores, count, j, int(params[REASON]), int(params[WHY]), -queue.key[i], affinity)
            count += 1
            used += need.workers
        elif strict:
            break
    return count


@bare
def may_fit(limits, failures, need, machines):
    """False is certain.  Asked before `try_gang`, because passing all that it takes is dear."""
    return (
        need.workers <= machines
        and within(limits, need.gpus, need.cpus, need.memory, need.types, need.workers, True)
        and not is_known_to_fail(failures, need)
    )


@bare
def try_gang(trial, need, j, machines):
    """`place_gang`, and what is learned from it."""
    limits = trial.limits
    fit, affinity = place_gang(trial.room, need, j, trial.placing, trial.undo, machines)
    if fit:
        if limits.age[0] == FRESH:
            limits.age[0] = STALE
    else:
        remember_failure(trial.failures, need)
        if limits.age[0] == STALE:
            measure_limits(trial.room, limits)
    return fit, affinity


@bare
def comes_before(queue, a, b):
    return queue.key[a] < queue.key[b] or (queue.key[a] == queue.key[b] and queue.job[a] < queue.job[b])


@bare
def sift_down(queue, size, place):
    heap = queue.heap
    while True:
        least = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < size and comes_before(queue, heap[child], heap[least]):
                least = child
        if least == place:
            return
        heap[place], heap[least] = heap[least], heap[place]
        place = least


@bare
def heapify(queue, size):
    """All positions into the heap."""
    for place in range(size):
        queue.heap[place] = place
    for place in range(size // 2 - 1, -1, -1):
        sift_down(queue, size, place)


@bare
def pop(queue, size):
    """The position on top of a heap of that size, which is one less afterwards."""
    top = queue.heap[0]
    queue.heap[0] = queue.heap[size - 1]
    sift_down(queue, size - 1, 0)
    return top


@bare
def share_after(view, params, used, j):
    """The dominant share of the job's user once it runs."""
    user = view.job_user[j]
    workers = view.job_workers[j]
    share = (used[user, 0] + view.job_gpus[j] * workers) / params[TOTAL_GPUS]
    share = max(share, (used[user, 1] + view.job_cpus[j] * workers) / params[TOTAL_CPUS])
    return max(max(share, (used[user, 2] + view.job_memory[j] * workers) / params[TOTAL_MEMORY]), 0.0)


@bare
def run_drf(view, params, state, queue, trial, used_by, starts, machines, scores):
    """Keys only grow: the one on top is worked out anew, and taken if it is still on top."""
    limits, failures = trial.limits, trial.failures
    size = queue.job.size
    for i in range(size):
        queue.key[i] = share_after(view, params, used_by, queue.job[i])
    heapify(queue, size)
    count, used = 0, 0
    while size > 0:
        i = queue.heap[0]
        j = queue.job[i]
        now = share_after(view, params, used_by, j)
        if now > queue.key[i]:
            queue.key[i] = now
            sift_down(queue, size, 0)
            continue
        pop(queue, size)
        size -= 1
        need = need_of(view, state, j)
        if not may_fit(limits, failures, need, machines.size - used):
            continue
        fit, affinity = try_gang(trial, need, j, machines[used:])
        if not fit:
            continue
        begin_job(starts, scores, count, j, int(params[REASON]), int(params[WHY]), -queue.key[i], affinity)
        count += 1
        used += need.workers
        user = view.job_user[j]
        used_by[user, 0] += view.job_gpus[j] * need.workers
        used_by[user, 1] += view.job_cpus[j] * need.workers
        used_by[user, 2] += view.job_memory[j] * need.workers
    return count


@bare
def best_alignment(room, need):
    """The largest of any machine, and which; -1 where the worker fits nowhere."""
    best, where = -np.inf, -1
    for m in range(room.up.size):
        if fits(room, m, need):
            found = aligned(room, m, need)
            if found > best:
                best, where = found, m
    return best, where


@bare
def gpus_free(room):
    total = 0.0
    for m in range(room.up.size):
        total += room.gpus[m]
    return total


@bare
def run_tetris(view, params, state, queue, trial, stale, starts, machines, scores):
    """As `run_drf`; the key of a job is stale only once its best machine has been used."""
    jobs, keys, heap = queue.job, queue.key, queue.heap
    room, limits, failures = trial.room, trial.limits, trial.failures
    total, sum_a, sum_p, size = gpus_free(room), 0.0, 0.0, 0
    for i in range(jobs.size):
        need = need_of(view, state, jobs[i])
        if need.workers * need.gpus > total + SLACK or is_known_to_fail(failures, need):
            continue
        keys[i], stale.where[i] = best_alignment(room, need)
        if stale.where[i] < 0:
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
        sift_down(queue, size, place)
    count, used = 0, 0
    while size > 0:
        i = heap[0]
        j = jobs[i]
        need = need_of(view, state, j)
        gone = False
        if stale.touched[stale.where[i]] > stale.since[i]:
            best, stale.where[i] = best_alignment(room, need)
            stale.since[i] = count
            if stale.where[i] >= 0:
                keys[i] = scale * work_left(view, j) - best
                sift_down(queue, size, 0)
                continue
            gone = True
        pop(queue, size)
        size -= 1
        if gone:
            continue
        if not may_fit(limits, failures, need, machines.size - used):
            continue
        fit, affinity = try_gang(trial, need, j, machines[used:])
        if not fit:
            continue
        begin_job(starts, scores, count, j, int(params[REASON]), int(params[WHY]), -keys[i], affinity)
        count += 1
        for worker in range(need.workers):
            stale.touched[machines[used + worker]] = count
        used += need.workers
    return count
