"""The last jobs that were placed, and how fast they turned out to be: the history of the Gaussian process, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.learned.das.jit import OPTIONS
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS

FRESH = 0.3  # how much of what is known of a running job's speed the latest measurement makes up
NOBODY = -1
HOUR_S = 3600.0


class Memory(NamedTuple):
    """A ring of the jobs placed last; twice as many as count, for some have not been seen running yet."""

    placed: Ints  # (1,) so far
    job_id: Ints  # (N,) -1: nobody
    machine: Ints  # (N,) of its first worker
    seen: Ints  # (N,) times it was seen running
    node: Floats  # (N, node columns)
    walk: Floats  # (N, rank) what the random walk makes of the node
    surprise: Floats  # (N,) how much faster it was than expected, as a logarithm
    seen_s: Floats  # (N,) when it was seen running last

    @classmethod
    def empty(cls, history: int, rank: int) -> Memory:
        size = 2 * history
        return cls(
            np.zeros(1, np.int64),
            np.full(size, NOBODY, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros((size, len(NODE_COLUMNS))),
            np.zeros((size, rank)),
            np.zeros(size),
            np.zeros(size),
        )


@njit(**OPTIONS)
def remember(memory, job_id, node, walk, machine):
    size = memory.job_id.shape[0]
    for place in range(size):
        if memory.job_id[place] == job_id:  # it was stopped, and starts again
            memory.job_id[place] = NOBODY
    place = memory.placed[0] % size
    memory.placed[0] += 1
    memory.job_id[place], memory.machine[place], memory.seen[place] = job_id, machine, 0
    memory.node[place], memory.walk[place] = node, walk


@njit(**OPTIONS)
def observe(memory, time_s, run_id, surprise):
    """What is nan was not measured, and is not remembered."""
    for place in range(memory.job_id.shape[0]):
        if memory.job_id[place] == NOBODY:
            continue
        for r in range(run_id.shape[0]):
            if run_id[r] == memory.job_id[place] and not np.isnan(surprise[r]):
                before = memory.surprise[place] if memory.seen[place] else surprise[r]
                memory.surprise[place] = before + FRESH * (surprise[r] - before)
                memory.seen[place] += 1
                memory.seen_s[place] = time_s


@njit(**OPTIONS)
def recalled(memory):
    """Places of the last that were seen running, the oldest first; half as many as there are places."""
    size = memory.job_id.shape[0]
    found = np.empty(size // 2, np.int64)
    count = 0
    for back in range(min(size, memory.placed[0])):
        place = (memory.placed[0] - 1 - back) % size
        if count < found.shape[0] and memory.job_id[place] != NOBODY and memory.seen[place]:
            found[count] = place
            count += 1
    return found[:count][::-1].copy()


@njit(**OPTIONS)
def age_h(memory, recall, time_s):
    """(n,) hours since each of those recalled was seen running."""
    return (time_s - memory.seen_s[recall]) / HOUR_S
