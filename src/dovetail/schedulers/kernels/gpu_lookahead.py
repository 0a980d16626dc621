"""What an order and a choice of places for the waiting jobs would come to, compiled: for searches.

The queue is list-scheduled on the machines: jobs start by key whenever they fit, running ones end when they are
expected to, those that start here after the time left by the estimates at the expected speed.  Nobody else arrives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.kernels.gpu_backfill import copy_room, expected_speed, need_of_job, release, sort_ends
from dovetail.schedulers.kernels.gpu_codes import SLOWEST, PlaceCode
from dovetail.schedulers.kernels.gpu_placing import Placing, place_gang
from dovetail.schedulers.kernels.gpu_queue import open_placing, open_room
from dovetail.schedulers.kernels.gpu_room import (
    Failures,
    Need,
    Room,
    Undo,
    fits,
    give_back,
    holds,
    is_known_to_fail,
    no_failures,
    no_undo,
    remember_failure,
)
from dovetail.schedulers.kernels.jit import bare, kernel

RULES = 3  # places that a job may choose from, in this order
TOPOLOGY, PACK, LOAD_BALANCE = int(PlaceCode.TOPOLOGY), int(PlaceCode.PACK), int(PlaceCode.LOAD_BALANCE)
NEVER = 2.0  # times so much longer is a job thought to take that would not start at all
SLACK = 1e-6


class Scene(NamedTuple):
    """All that evaluations of one decision share.  n jobs are ordered, R run, W workers are placed at most."""

    jobs: Ints  # (n,) job indices
    offset: Ints  # (n,) where the machines of their workers begin
    types: Ints  # (C,) masks of types to choose from, -1 first
    price: Floats  # (T,)
    now: Room
    room: Room  # scratch from here on
    placing: Placing
    undo: Undo
    failures: Failures
    run_end: Floats  # (R,)
    run_rank: Ints  # (R,)
    first_row: Ints  # (R + 1,)
    shared: Ints  # (M,)
    rank: Ints  # (n,)
    end: Floats  # (n,) of those that run in the schedule; inf: not yet, -1: gone
    machine: Ints  # (W,)
    device: Ints  # (W,)
    freed: Ints  # (M,)
    is_freed: Ints  # (M,)


@kernel
def open_scene(view, params, state, jobs, types, price):
    """Everything that does not depend on the order."""
    n, runs, machines = jobs.size, view.run_id.size, view.machine_up.size
    offset = np.zeros(n, np.int64)
    workers, longest = 0, 1
    for i in range(n):
        offset[i] = workers
        workers += view.job_workers[jobs[i]]
    for j in range(view.job_id.size):
        longest = max(longest, view.job_workers[j])
    run_end = np.empty(runs, np.float64)
    for run in range(runs):
        run_end[run] = view.time_s + view.run_left_s[run] / max(view.run_speed[run], SLOWEST)
    run_rank = np.empty(runs, np.int64)
    sort_ends(run_end, run_rank, runs)
    first_row = np.zeros(runs + 1, np.int64)
    shared = np.zeros(machines, np.int64)
    for row in range(view.row_run.size):
        if view.row_device[row] >= 0:
            shared[view.row_machine[row]] |= 1 << view.row_device[row]
        first_row[view.row_run[row] + 1] = row + 1
    for run in range(runs):
        first_row[run + 1] = max(first_row[run + 1], first_row[run])
    return Scene(
        jobs,
        offset,
        types,
        price,
        open_room(view, params, state),
        open_room(view, params, state),
        open_placing(view, params, state),
        no_undo(longest, view.device_free.shape[1]),
        no_failures(),
        run_end,
        run_rank,
        first_row,
        shared,
        np.empty(n, np.int64),
        np.empty(n, np.float64),
        np.empty(workers, np.int64),
        np.empty(workers, np.int64),
        np.empty(machines, np.int64),
        np.zeros(machines, np.int64),
    )


@bare
def choice_of(scene, gene):
    return min(int(gene * (RULES * scene.types.size)), RULES * scene.types.size - 1)


@bare
def chosen_need(view, state, scene, j, gene):
    """On the types chosen, if the job may run on any of them."""
    need = need_of_job(view, state, j)
    types = need.types & scene.types[choice_of(scene, gene) // RULES]
    if types == 0:
        return need
    return Need(need.gpus, need.cpus, need.memory, types, need.workers, need.kind)


@bare
def chosen_place(scene, gene):
    p, rule = scene.placing, choice_of(scene, gene) % RULES
    code = TOPOLOGY if rule == 0 else PACK if rule == 1 else LOAD_BALANCE
    return Placing(
        code,
        p.most_gpus,
        p.most_cpus,
        p.most_memory,
        p.key,
        p.count,
        p.classes,
        p.seen,
        p.types,
        p.speed,
        p.score,
        p.free,
        p.spare,
        p.racks,
    )


@bare
def rank_by_key(keys, rank):
    """Positions in order of key, equal ones in order of position; there are few."""
    for i in range(rank.size):
        place = i
        while place > 0 and keys[rank[place - 1]] > keys[i]:
            rank[place] = rank[place - 1]
            place -= 1
        rank[place] = i


@bare
def free_gpus(room):
    total = 0.0
    for m in range(room.up.size):
        total += room.gpus[m]
    return total


@bare
def helps(scene, need, freed):
    """Whether a worker fits on a machine of which something was freed; otherwise what failed fails again."""
    found = False
    for place in range(freed):
        found = found or fits(scene.room, scene.freed[place], need)
    return found


@bare
def evaluate(view, params, state, scene, keys, genes):
    """Mean completion time and mean fee of the jobs, if they started by `keys` and were placed by `genes`."""
    n, room, runs = scene.jobs.size, scene.room, scene.run_end.size
    copy_room(scene.now, room)
    rank_by_key(keys, scene.rank)
    for i in range(n):
        scene.end[i] = np.inf
    gpus = free_gpus(room)
    time_s, waiting, next_run, freed, first = view.time_s, n, 0, 0, True
    completion, fee = 0.0, 0.0
    while waiting > 0:
        scene.failures.count[0] = 0
        for place in range(n):
            i = scene.rank[place]
            if scene.end[i] < np.inf:
                continue
            j = scene.jobs[i]
            need = chosen_need(view, state, scene, j, genes[i])
            if need.workers * need.gpus > gpus + SLACK or not (first or helps(scene, need, freed)):
                continue
            if is_known_to_fail(scene.failures, need):
                continue
            machines = scene.machine[scene.offset[i] : scene.offset[i] + need.workers]
            fit, _ = place_gang(room, need, j, chosen_place(scene, genes[i]), scene.undo, machines)
            if not fit:
                remember_failure(scene.failures, need)
                continue
            running_s = view.job_left_s[j] / expected_speed(params, room, need.kind, machines)
            scene.end[i] = time_s + running_s
            completion += time_s + running_s - view.job_arrival_s[j]
            for worker in range(need.workers):
                scene.device[scene.offset[i] + worker] = scene.undo.devices[worker]
                fee += running_s / 3600.0 * need.gpus * scene.price[room.type[machines[worker]]]
            gpus -= need.workers * need.gpus
            waiting -= 1
        if waiting == 0:
            break
        first = False
        next_s = scene.run_end[scene.run_rank[next_run]] if next_run < runs else np.inf
        for i in range(n):
            if scene.end[i] >= 0.0:
                next_s = min(next_s, scene.end[i])
        if next_s == np.inf:
            break
        time_s = max(time_s, next_s)
        for place in range(freed):
            scene.is_freed[scene.freed[place]] = 0
        freed = 0
        while next_run < runs and scene.run_end[scene.run_rank[next_run]] <= time_s:
            run = scene.run_rank[next_run]
            release(view, room, run, scene.first_row[run], scene.first_row[run + 1], scene.shared)
            gpus += view.run_workers[run] * view.run_gpus[run]
            for row in range(scene.first_row[run], scene.first_row[run + 1]):
                freed = note_freed(scene, freed, view.row_machine[row])
            next_run += 1
        for i in range(n):
            if 0.0 <= scene.end[i] <= time_s:
                j = scene.jobs[i]
                for at in range(scene.offset[i], scene.offset[i] + view.job_workers[j]):
                    m = scene.machine[at]
                    give_back(room, m, scene.device[at], view.job_gpus[j], view.job_cpus[j], view.job_memory[j])
                    freed = note_freed(scene, freed, m)
                gpus += view.job_workers[j] * view.job_gpus[j]
                scene.end[i] = -1.0
    for place in range(freed):
        scene.is_freed[scene.freed[place]] = 0
    for i in range(n):
        if scene.end[i] == np.inf:
            j = scene.jobs[i]
            completion += (time_s - view.job_arrival_s[j] + view.job_left_s[j]) * NEVER
            fee += view.job_left_s[j] / 3600.0 * view.job_workers[j] * view.job_gpus[j] * NEVER
    return completion / n, fee / n


@bare
def anybody_fits(view, state, scene):
    scene.failures.count[0] = 0
    for j in range(view.job_id.size):
        need = need_of_job(view, state, j)
        if not is_known_to_fail(scene.failures, need):
            if holds(scene.now, need):
                return True
            remember_failure(scene.failures, need)
    return False


@bare
def note_freed(scene, freed, m):
    if scene.is_freed[m] == 0:
        scene.is_freed[m] = 1
        scene.freed[freed] = m
        freed += 1
    return freed


@bare
def start_now(view, state, scene, keys, genes, starts, machines, scores):
    """Those of the jobs that start at once; then others of the queue that fit beside them, by arrival."""
    n, room = scene.jobs.size, scene.room
    copy_room(scene.now, room)
    rank_by_key(keys, scene.rank)
    scene.failures.count[0] = 0
    count, used = 0, 0
    for place in range(n):
        i = scene.rank[place]
        j = scene.jobs[i]
        need = chosen_need(view, state, scene, j, genes[i])
        if is_known_to_fail(scene.failures, need):
            continue
        fit, affinity = place_gang(room, need, j, chosen_place(scene, genes[i]), scene.undo, machines[used:])
        if not fit:
            remember_failure(scene.failures, need)
            continue
        starts[count] = j
        scores[count, 0] = -float(place)
        scores[count, 1] = affinity
        count += 1
        used += need.workers
    idle = count == 0 and view.run_id.size == 0  # then there is nothing to wait for: any types will do
    if idle:
        scene.failures.count[0] = 0
    member = 0
    for j in range(view.job_id.size):
        if member < n and scene.jobs[member] == j:  # jobs of the scene are in order
            member += 1
            if not idle:
                continue
        need = need_of_job(view, state, j)
        if is_known_to_fail(scene.failures, need):
            continue
        fit, affinity = place_gang(room, need, j, chosen_place(scene, 0.0), scene.undo, machines[used:])
        if not fit:
            remember_failure(scene.failures, need)
            continue
        starts[count] = j
        scores[count, 0] = -float(n + j)
        scores[count, 1] = affinity
        count += 1
        used += need.workers
    return count
