"""The whole scheduler as one kernel: what is seen, both agents, who starts where.  So whole episodes run compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats, GpuKernel, GpuView, Ints, Place, Reason
from dovetail.features.gpu_measure import (
    Known,
    Room,
    all_that_fit,
    measure_jobs,
    measure_machines,
    measure_pairs,
    measure_speeds,
    take,
    workers_that_fit,
)
from dovetail.schedulers.learned.das.forward import RACK, DasForward, Weights, affinity, priorities
from dovetail.schedulers.learned.das.jit import OPTIONS
from dovetail.schedulers.learned.das.memory import Memory, observe, recalled, remember

LEARNED_PRIORITY, LEARNED_AFFINITY = int(Reason.LEARNED_PRIORITY), int(Place.LEARNED_AFFINITY)


@njit(**OPTIONS)
def nodes_of(machines, pairs, jobs, job, memory, recall, rack):
    """(M + n, node columns) of a job's graph, and (M + n,) their racks: the machines, then what is remembered."""
    count, known = machines.shape[0], recall.shape[0]
    first, second, third = machines.shape[1], pairs.shape[1], jobs.shape[1]
    nodes = np.empty((count + known, first + second + third))
    racks = np.empty(count + known, np.int64)
    nodes[:count, :first] = machines
    nodes[:count, first : first + second] = pairs
    nodes[:count, first + second :] = jobs[job]
    racks[:count] = rack
    for i in range(known):
        nodes[count + i] = memory.node[recall[i]]
        racks[count + i] = memory.rack[recall[i]]
    return nodes, racks


@njit(**OPTIONS)
def fill(score, fits, workers, rack, bonus, out):
    """A machine for each worker: the best takes as many as it can, then the next; those in its rack gain a bonus."""
    score = score.copy()
    for m in range(score.shape[0]):
        if fits[m] <= 0:
            score[m] = -np.inf
    placed = 0
    while placed < workers:
        best = np.argmax(score)
        for _ in range(min(fits[best], workers - placed)):
            out[placed] = best
            placed += 1
        score[best] = -np.inf
        for m in range(score.shape[0]):
            if rack[m] == rack[best]:
                score[m] += bonus


@njit(**OPTIONS)
def choose(view, weights, known, memory, starts, machines, scores):
    """As `GpuKernel` has it."""
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
    observe(memory, view.run_id, ratio)
    jobs = measure_jobs(view, known, fits)
    state = measure_machines(view, known, ratio, main)
    priority = priorities(weights, jobs, state)
    recall = recalled(memory)
    log_ratio = memory.log_ratio[recall]
    started, first = 0, 0
    for job in np.argsort(-priority, kind="mergesort"):
        if not possible[job]:
            continue
        workers, gpus, cpus, space = view.job_workers[job], view.job_gpus[job], view.job_cpus[job], view.job_memory[job]
        if started:  # others have been placed meanwhile
            workers_that_fit(room, known, gpus, cpus, space, view.job_types[job], view.job_kind[job], fits[job])
            if np.minimum(fits[job], workers).sum() < workers:
                continue
        pairs = measure_pairs(view, known, room, job, fits[job])
        nodes, racks = nodes_of(state, pairs, jobs, job, memory, recall, known.rack)
        score = affinity(weights, known.rack.shape[0], nodes, racks, log_ratio)[0]
        chosen = machines[first : first + workers]
        fill(score, fits[job], workers, known.rack, weights.scalars[RACK], chosen)
        for machine in chosen:
            take(room, machine, gpus, cpus, space)
        remember(memory, view.job_id[job], nodes[chosen[0]], known.rack[chosen[0]])
        starts[started, 0], starts[started, 1], starts[started, 2] = job, LEARNED_PRIORITY, LEARNED_AFFINITY
        scores[started, 0], scores[started, 1] = priority[job], score[chosen[0]]
        started += 1
        first += workers
    return started


# --- the same for whole episodes: everything travels in the two arrays of a GpuKernel ---------------------------------

COLUMNS = 4  # of an array of floats: where it begins in `params`, and its size in up to three dimensions
INTS = ("type", "rack", "placed", "job_id", "rack of jobs", "seen")
FIRST_INT = 1  # `state`: the heads of attention, where each array of integers begins, what is said of floats, integers
FIRST_SIZE = FIRST_INT + len(INTS) + 1
KNOWN, MEMORY = len(Weights._fields) - 1, len(Weights._fields) - 1 + len(Known._fields) - 2  # their first arrays


def pack_kernel(network: DasForward, known: Known) -> GpuKernel:
    memory = Memory.empty(network.shape.history)
    floats = [*network.weights[1:], *known[2:], memory.node, memory.log_ratio]
    ints = [known.type, known.rack, memory.placed, memory.job_id, memory.rack, memory.seen]
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
    )
    memory = Memory(
        _ints(state, 2),
        _ints(state, 3),
        _ints(state, 4),
        _ints(state, 5),
        _table(params, state, MEMORY),
        _flat(params, state, MEMORY + 1),
    )
    return choose(view, weights, known, memory, starts, machines, scores)
