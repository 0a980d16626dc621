"""The whole scheduler as one kernel: what is seen, both agents, who starts where.  So whole episodes run compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats, GpuKernel, GpuView, Ints, Place, Reason
from dovetail.features.gpu_arrivals import Arrivals, asked_by_shorter, notice
from dovetail.features.gpu_measure import (
    Known,
    Queue,
    Room,
    all_that_fit,
    measure_jobs,
    measure_machines,
    measure_pairs,
    measure_queue,
    measure_speeds,
    measure_start,
    take,
    workers_that_fit,
)
from dovetail.features.gpu_neighbours import (
    Neighbours,
    Pressure,
    add_pressure,
    measure_neighbours,
    measure_pressure,
    measure_surprise,
)
from dovetail.schedulers.learned.das.forward import RACK, DasForward, Weights, affinity, judged_jobs, starts_now
from dovetail.schedulers.learned.das.jit import OPTIONS
from dovetail.schedulers.learned.das.memory import Memory, age_h, observe, recalled, remember

LEARNED_PRIORITY, LEARNED_AFFINITY = int(Reason.LEARNED_PRIORITY), int(Place.LEARNED_AFFINITY)


class Nudge(NamedTuple):
    """What is added to scores of N jobs, by their numbers, to see what comes of it; N = 0: nothing."""

    order: Floats  # (N,) to priorities
    start: Floats  # (N,) to what speaks for starting
    place: Floats  # (N, M) to affinities, in standard deviations of what the process expects

    @classmethod
    def none(cls) -> Nudge:
        return cls(np.zeros(0), np.zeros(0), np.zeros((0, 0)))


@njit(**OPTIONS)
def nodes_of(may, machines, pairs, beside, jobs, job):
    """(C, node columns) of the machines that a job may use, as it would find them."""
    first, second = machines.shape[1], machines.shape[1] + pairs.shape[1]
    third = second + beside.shape[1]
    nodes = np.empty((may.shape[0], third + jobs.shape[1]))
    for i in range(may.shape[0]):
        nodes[i, :first] = machines[may[i]]
        nodes[i, first:second] = pairs[may[i]]
        nodes[i, second:third] = beside[may[i]]
        nodes[i, third:] = jobs[job]
    return nodes


@njit(**OPTIONS)
def fill(score, may, fits, workers, known, bonus, out):
    """A machine for each worker: the best takes as many as it can, then the next; those in its rack gain a bonus.

    All are of one type, where one has room for all of them: the job runs as fast as the slowest.  `score` is of the
    machines it `may` use; the position of the first that was taken is returned.
    """
    score = score.copy()
    room = np.zeros(known.speed.shape[1], np.int64)
    for machine in may:
        room[known.type[machine]] += min(fits[machine], workers)
    if room.max() >= workers:
        for i in range(score.shape[0]):
            if room[known.type[may[i]]] < workers:
                score[i] = -np.inf
    first, placed = np.argmax(score), 0
    if room.max() >= workers:
        for i in range(score.shape[0]):
            if known.type[may[i]] != known.type[may[first]]:
                score[i] = -np.inf
    while placed < workers:
        best = np.argmax(score)
        for _ in range(min(fits[may[best]], workers - placed)):
            out[placed] = may[best]
            placed += 1
        score[best] = -np.inf
        for i in range(score.shape[0]):
            if known.rack[may[i]] == known.rack[may[best]]:
                score[i] += bonus
    return first


@njit(**OPTIONS)
def pass_over(queue, gpus):
    """A job of so many GPUs does not start, whether it cannot or had better not."""
    queue.passed[0] = max(queue.passed[0], gpus)


@njit(**OPTIONS)
def choose(view, weights, known, about, nudge, memory, arrivals, starts, machines, scores):
    """As `GpuKernel` has it."""
    notice(arrivals, view)
    room = Room(
        view.machine_up.copy(),
        view.device_free.copy(),
        view.machine_whole_free.copy(),
        view.machine_cpus_free.copy(),
        view.machine_memory_free.copy(),
    )
    fits, possible = all_that_fit(view, room, known)
    if not possible.any():
        return 0
    ratio, main = measure_speeds(view, known)
    host, device = measure_pressure(view, about)
    pressure = Pressure(host, device)
    surprise = measure_surprise(view, known, about, pressure, ratio)
    observe(memory, view.time_s, view.run_id, surprise)
    jobs = measure_jobs(view, known, fits)
    state = measure_machines(view, known, surprise, main)
    judged = judged_jobs(weights, jobs, state)
    nudged = nudge.order.shape[0] > 0
    if nudged:
        for job in range(judged.shape[0]):
            judged[job, 0] += nudge.order[view.job_id[job]]
            judged[job, 1] += nudge.start[view.job_id[job]]
    recall = recalled(memory)
    age = age_h(memory, recall, view.time_s)
    past, remembered, surprises = memory.machine[recall], memory.walk[recall], memory.surprise[recall]
    wanted, next_s, run_left_s, run_gpus = measure_queue(view)
    queue = Queue(wanted, next_s, run_left_s, run_gpus, np.zeros(1))
    started, first = 0, 0
    for job in np.argsort(-judged[:, 0], kind="mergesort"):
        workers, gpus, cpus, space = view.job_workers[job], view.job_gpus[job], view.job_cpus[job], view.job_memory[job]
        if not possible[job]:
            pass_over(queue, workers * gpus)
            continue
        if started:  # others have been placed meanwhile
            workers_that_fit(room, known, gpus, cpus, space, view.job_types[job], view.job_kind[job], fits[job])
            if np.minimum(fits[job], workers).sum() < workers:
                pass_over(queue, workers * gpus)
                continue
        anything = started > 0 or view.run_id.shape[0] > 0  # to wait for
        if anything:
            asked = asked_by_shorter(arrivals, view.time_s, view.job_left_s[job], known.total[0])
            columns = measure_start(view, known, room, queue, asked, job, fits[job])
            if starts_now(weights, columns) + judged[job, 1] < 0.0:
                pass_over(queue, workers * gpus)
                continue
        pairs = measure_pairs(view, known, room, job, fits[job])
        beside = measure_neighbours(view, room, about, pressure, job, fits[job])
        may = np.flatnonzero(fits[job] > 0)
        nodes = nodes_of(may, state, pairs, beside, jobs, job)
        at = np.concatenate((may, past))
        score, _, variance, walked = affinity(weights, nodes, at, known.rack, remembered, surprises, age, nudged)
        if nudged:
            for i in range(may.shape[0]):
                score[i] += np.sqrt(variance[i]) * nudge.place[view.job_id[job], may[i]]
        chosen = machines[first : first + workers]
        best = fill(score, may, fits[job], workers, known, weights.scalars[RACK], chosen)
        for machine in chosen:
            add_pressure(pressure, about, room, machine, view.job_kind[job], gpus)
            take(room, machine, gpus, cpus, space)
        remember(memory, view.job_id[job], nodes[best], walked[best], may[best])
        starts[started, 0], starts[started, 1], starts[started, 2] = job, LEARNED_PRIORITY, LEARNED_AFFINITY
        scores[started, 0], scores[started, 1] = judged[job, 0], score[best]
        started += 1
        first += workers
    return started


# --- the same for whole episodes: everything travels in the two arrays of a GpuKernel ---------------------------------

COLUMNS = 4  # of an array of floats: where it begins in `params`, and its size in up to three dimensions
INTS = ("type", "rack", "placed", "job_id", "machine of jobs", "seen")
FIRST_INT = 1  # `state`: the heads of attention, where each array of integers begins, what is said of floats, integers
FIRST_SIZE = FIRST_INT + len(INTS) + 1
KNOWN = len(Weights._fields) - 1  # the first arrays of each
ABOUT = KNOWN + len(Known._fields) - 2
NUDGE = ABOUT + len(Neighbours._fields)
MEMORY = NUDGE + len(Nudge._fields)
ARRIVALS = MEMORY + len(Memory._fields) - 4


def pack_kernel(network: DasForward, known: Known, about: Neighbours, nudge: Nudge) -> GpuKernel:
    memory = Memory.empty(network.shape.history, network.shape.walk_rank)
    floats = [*network.weights[1:], *known[2:], *about, *nudge, *memory[4:], *Arrivals.empty()]
    ints = [known.type, known.rack, memory.placed, memory.job_id, memory.machine, memory.seen]
    sizes = np.ones((len(floats), COLUMNS), np.int64)
    sizes[:, 0] = np.cumsum([0, *(array.size for array in floats[:-1])])
    for row, array in zip(sizes, floats, strict=True):
        row[1 : 1 + array.ndim] = array.shape
    begins = FIRST_SIZE + sizes.size + np.cumsum([0, *(len(part) for part in ints)])
    state = np.concatenate([np.array([network.weights.heads]), begins, sizes.ravel(), *ints])
    return GpuKernel(decide, np.concatenate([array.ravel() for array in floats]), state, wants_running=True)


@njit(**OPTIONS)
def _flat(params, state, number):
    size = FIRST_SIZE + number * COLUMNS
    begin = state[size]
    return params[begin : begin + state[size + 1] * state[size + 2] * state[size + 3]]


@njit(**OPTIONS)
def _table(params, state, number):
    size = FIRST_SIZE + number * COLUMNS
    return _flat(params, state, number).reshape((state[size + 1], state[size + 2]))


@njit(**OPTIONS)
def _tables(params, state, number):
    size = FIRST_SIZE + number * COLUMNS
    return _flat(params, state, number).reshape((state[size + 1], state[size + 2], state[size + 3]))


@njit(**OPTIONS)
def _ints(state, number):
    return state[state[FIRST_INT + number] : state[FIRST_INT + number + 1]]


def decide(view: GpuView, params: Floats, state: Ints, starts: Ints, machines: Ints, scores: Floats) -> int:
    weights = Weights(
        state[0],
        _flat(params, state, 0),
        _flat(params, state, 1),
        _table(params, state, 2),
        _flat(params, state, 3),
        _table(params, state, 4),
        _flat(params, state, 5),
        _table(params, state, 6),
        _flat(params, state, 7),
        _tables(params, state, 8),
        _tables(params, state, 9),
        _tables(params, state, 10),
        _tables(params, state, 11),
        _table(params, state, 12),
        _table(params, state, 13),
        _tables(params, state, 14),
        _table(params, state, 15),
        _tables(params, state, 16),
        _table(params, state, 17),
        _table(params, state, 18),
        _flat(params, state, 19),
        _flat(params, state, 20),
        _table(params, state, 21),
        _flat(params, state, 22),
        _table(params, state, 23),
        _flat(params, state, 24),
        _table(params, state, 25),
        _flat(params, state, 26),
        _table(params, state, 27),
        _flat(params, state, 28),
        _flat(params, state, 29),
        _table(params, state, 30),
        _flat(params, state, 31),
        _flat(params, state, 32),
    )
    known = Known(
        _ints(state, 0),
        _ints(state, 1),
        _flat(params, state, KNOWN),
        _flat(params, state, KNOWN + 1),
        _flat(params, state, KNOWN + 2),
        _flat(params, state, KNOWN + 3),
        _flat(params, state, KNOWN + 4),
        _flat(params, state, KNOWN + 5),
        _table(params, state, KNOWN + 6),
        _flat(params, state, KNOWN + 7),
        _flat(params, state, KNOWN + 8),
        _flat(params, state, KNOWN + 9),
    )
    about = Neighbours(
        _table(params, state, ABOUT),
        _table(params, state, ABOUT + 1),
        _table(params, state, ABOUT + 2),
        _table(params, state, ABOUT + 3),
    )
    nudge = Nudge(_flat(params, state, NUDGE), _flat(params, state, NUDGE + 1), _table(params, state, NUDGE + 2))
    memory = Memory(
        _ints(state, 2),
        _ints(state, 3),
        _ints(state, 4),
        _ints(state, 5),
        _table(params, state, MEMORY),
        _table(params, state, MEMORY + 1),
        _flat(params, state, MEMORY + 2),
        _flat(params, state, MEMORY + 3),
    )
    arrivals = Arrivals(
        _flat(params, state, ARRIVALS),
        _flat(params, state, ARRIVALS + 1),
        _flat(params, state, ARRIVALS + 2),
        _flat(params, state, ARRIVALS + 3),
    )
    return choose(view, weights, known, about, nudge, memory, arrivals, starts, machines, scores)
