"""What no worker can get more of, compiled: tells in a comparison that most of a long queue does not fit.

Machines with so many whole GPUs free have so many processors at most, so much memory, and are of these types.  Where a
cluster is full and one machine becomes free, that is all there is to know.  What is free only shrinks while jobs are
being placed, so limits that are out of date are too wide and never wrong; they are measured anew when a job that was
within them did not fit.  For a few jobs it is not worth it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.kernels.gpu_room import TOLERANCE
from dovetail.schedulers.kernels.jit import bare, kernel

SLACK = 1e-6  # of a sum of shares
NO_GPU, A_SHARE = 0, 1  # rows; row 1 + k is of workers with k whole GPUs
SHARE, TOTAL = 0, 1  # of `most`
FRESH, STALE, NEVER = 0, 1, 2  # whether something was taken since; never: nothing is measured
MANY = 1 << 62
FEW = 8  # waiting jobs, for which measuring does not pay


class Limits(NamedTuple):
    """A row for workers without GPUs, with a share of one, with 1, 2, ... whole ones."""

    cpus: Floats  # (2 + D,) below 0: no machine
    memory: Floats  # (2 + D,)
    types: Ints  # (2 + D,) a bit for each
    workers: Ints  # (2 + D,) for how many there are GPUs; of whole ones only
    most: Floats  # (2,) the largest free share of a device, all GPUs that are free
    age: Ints  # (1,)


@kernel
def no_limits(devices):
    """As if there were enough of everything."""
    rows = 2 + devices
    return Limits(
        np.full(rows, np.inf),
        np.full(rows, np.inf),
        np.full(rows, -1),
        np.full(rows, MANY),
        np.full(2, np.inf),
        np.full(1, NEVER),
    )


@bare
def widen(limits, row, room, m):
    limits.cpus[row] = max(limits.cpus[row], room.cpus[m])
    limits.memory[row] = max(limits.memory[row], room.memory[m])
    limits.types[row] |= 1 << room.type[m]


@bare
def measure_limits(room, limits):
    for row in range(limits.cpus.size):
        limits.cpus[row], limits.memory[row] = -1.0, -1.0
        limits.types[row], limits.workers[row] = 0, 0
    cpus, memory, types, share, total = -1.0, -1.0, 0, 0.0, 0.0  # of all machines
    for m in range(room.up.size):
        if not room.up[m]:
            continue
        cpus, memory = max(cpus, room.cpus[m]), max(memory, room.memory[m])
        types |= 1 << room.type[m]
        if room.gpus[m] <= 0.0:
            continue
        total += room.gpus[m]
        widen(limits, A_SHARE, room, m)
        whole = min(room.whole[m], limits.cpus.size - 2)
        for gpus in range(1, whole + 1):
            widen(limits, 1 + gpus, room, m)
            limits.workers[1 + gpus] += whole // gpus
        if whole > 0:
            share = 1.0
        elif share < 1.0:
            for d in range(room.device.shape[1]):
                share = max(share, room.device[m, d])
    limits.cpus[NO_GPU], limits.memory[NO_GPU], limits.types[NO_GPU] = cpus, memory, types
    limits.most[SHARE], limits.most[TOTAL] = share, total
    limits.age[0] = FRESH


@bare
def within(limits, gpus, cpus, memory, types, workers, gang):
    """Whether such a worker may fit somewhere; with `gang`, all of them.  False is certain."""
    row = NO_GPU
    if gpus >= 1.0:
        row = 1 + int(gpus)
        if row >= limits.cpus.size or (gang and limits.workers[row] < workers):
            return False
    elif gpus > SLACK:
        row = A_SHARE
        if gpus > limits.most[SHARE] + SLACK:
            return False
    return (
        cpus <= limits.cpus[row] + TOLERANCE
        and memory <= limits.memory[row] + TOLERANCE
        and limits.types[row] & types != 0
        and gpus * workers <= limits.most[TOTAL] + SLACK
    )
