"""One step of one job: who may go how far, how far they get, and what is delivered."""

from __future__ import annotations

from math import inf, log10

from dovetail.sim.kernels.jit import kernel
from dovetail.sim.kernels.stream_queue import share
from dovetail.sim.kernels.stream_state import (
    ARRIVED,
    BIN_S,
    BINS_PER_DECADE,
    CHILD_FIRST,
    CHILD_LAST,
    DELAY_BINS,
    DELIVERED,
    FIRST_DELAY_S,
    FULL_STRIDE,
    GAIN,
    HELD,
    LIMIT,
    NEW_DELAY_S,
    NEW_LEFT,
    OLDEST_BIN,
    OLDEST_S,
    OP_FIRST,
    OP_LAST,
    PARENT_FIRST,
    PARENT_LAST,
    PROGRESS,
    ROOM,
    SERVERS,
    SLOPE,
    STANDING,
    STRIDE,
    WAITING,
)

LAST_BIT, ROUNDING = 1e-9, 1e-15  # records, and their share of all that have arrived: what is less is done at once


@kernel
def available(m, i, arrived):
    """How far operator i could be."""
    first = m.op_ints[PARENT_FIRST, i]
    last = m.op_ints[PARENT_LAST, i]
    if first == last:
        return arrived
    least = inf
    for edge in range(first, last):
        least = min(least, m.op_floats[PROGRESS, m.parents[edge]])
    return least


@kernel
def hold_up(m, j):
    """How far each operator may go in this step without filling the buffers of those it feeds."""
    for i in range(m.job_ints[OP_LAST, j] - 1, m.job_ints[OP_FIRST, j] - 1, -1):
        most = m.op_floats[PROGRESS, i] + m.op_floats[FULL_STRIDE, i]
        for edge in range(m.op_ints[CHILD_FIRST, i], m.op_ints[CHILD_LAST, i]):
            child = m.children[edge]
            if m.op_floats[GAIN, child] > 0.0:
                most = min(most, m.op_floats[LIMIT, child] + m.op_floats[ROOM, child])
        m.op_floats[LIMIT, i] = most


@kernel
def move(m, j):
    """Every operator goes on; how far all sinks are through."""
    arrived = m.job_floats[ARRIVED, j]
    least = LAST_BIT + ROUNDING * arrived
    through = inf
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        could = available(m, i, arrived)
        gain = m.op_floats[GAIN, i]
        before = m.op_floats[PROGRESS, i]
        after = could
        if gain > 0.0:
            busy = share(m.op_floats, i, 0, m.op_floats[SLOPE, i], gain * (could - before))
            wanted = before + busy * m.op_floats[STRIDE, i]
            if (could - wanted) * min(gain, 1.0) <= least:
                wanted = could
            after = max(before, min(wanted, m.op_floats[LIMIT, i]))
            if after < wanted:
                busy = share(m.op_floats, i, STANDING, m.op_floats[SERVERS, i], gain * (could - after))
                m.op_floats[HELD, i] += max(0.0, busy * m.op_floats[STRIDE, i] - (after - before))
            m.op_floats[WAITING, i] += could - after
        m.op_floats[PROGRESS, i] = after
        if m.op_ints[CHILD_FIRST, i] == m.op_ints[CHILD_LAST, i]:
            through = min(through, after)
    return through


@kernel
def wait(m, j):
    """A step in which the job stands still: only waiting goes on."""
    arrived = m.job_floats[ARRIVED, j]
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        m.op_floats[WAITING, i] += available(m, i, arrived) - m.op_floats[PROGRESS, i]


@kernel
def arrival_s(m, j, record):
    """When it arrived: by its number, in the bin that OLDEST_BIN says."""
    b = m.job_ints[OLDEST_BIN, j]
    if m.rate[j, b] > 0.0:
        return m.times[BIN_S] * b + (record - m.arrived[j, b]) / m.rate[j, b]
    return m.times[BIN_S] * b


@kernel
def deliver(m, j, through, start_s, end_s, counts):
    """All sinks are through with so many: their delays, and which is the oldest of the others."""
    before = m.job_floats[DELIVERED, j]
    if through <= before:
        return
    bins = m.rate.shape[1]
    b = m.job_ints[OLDEST_BIN, j]
    while b < bins - 1 and m.arrived[j, b + 1] < through:
        b += 1
    m.job_ints[OLDEST_BIN, j] = b
    delay_s = 0.5 * (max(0.0, start_s - m.job_floats[OLDEST_S, j]) + max(0.0, end_s - arrival_s(m, j, through)))
    while b < bins - 1 and m.arrived[j, b + 1] <= through:  # nothing came for a while: the next is of a later bin
        b += 1
    m.job_ints[OLDEST_BIN, j] = b
    m.job_floats[OLDEST_S, j] = arrival_s(m, j, through)
    m.job_floats[DELIVERED, j] = through
    m.job_floats[NEW_LEFT, j] += through - before
    m.job_floats[NEW_DELAY_S, j] += (through - before) * delay_s
    if counts:
        place = 0
        if delay_s >= FIRST_DELAY_S:
            place = 1 + int(log10(delay_s / FIRST_DELAY_S) * BINS_PER_DECADE)
        m.delays[j, min(place, DELAY_BINS - 1)] += through - before
