"""Gathering what steps have left behind: into rows of snapshots, and of intervals."""

from __future__ import annotations

from dovetail.sim.kernels.jit import kernel
from dovetail.sim.kernels.stream_state import (
    ARRIVED,
    DELIVERED,
    GAIN,
    HELD,
    HISTORY,
    INTERVAL_STEPS,
    JOB_SUMS,
    KEEPS_ALL,
    MARK_ARRIVED,
    MARK_AVAILABLE,
    MARK_PROGRESS,
    NEW_DELAY_S,
    NEW_DOWN_S,
    NEW_LEFT,
    NOW_SERVICE_S,
    OLDEST_S,
    OP_FIRST,
    OP_LAST,
    PARALLELISM,
    PROGRESS,
    ROW_ARRIVALS,
    ROW_BLOCKED,
    ROW_BUSY,
    ROW_DELAY,
    ROW_DOWN,
    ROW_INPUT,
    ROW_LAG,
    ROW_LATENCY,
    ROW_QUEUED,
    ROW_RATE,
    SERVERS,
    SNAPSHOT_STEPS,
    SPAN_ARRIVED,
    SPAN_BLOCKED,
    SPAN_BUSY,
    SPAN_DELIVERED,
    SPAN_DOWN,
    SPAN_LAG,
    SPAN_LATENCY,
    SPAN_OPS,
    SPAN_PARALLELISM,
    SPAN_QUEUED,
    SPAN_RATE,
    SPAN_UTILISATION,
    STEP_S,
    SUM_BLOCKED_S,
    SUM_BUSY_S,
    SUM_CAME,
    SUM_DELAY_S,
    SUM_DONE,
    SUM_DOWN_S,
    SUM_INPUT,
    SUM_LEFT,
    SUM_OWNED_S,
    SUM_WAITING_S,
    SUMS,
    WAITING,
)
from dovetail.sim.kernels.stream_step import available


@kernel
def gather(m, j, steps):
    """Add what happened in the last so many steps, in which no service time changed, to both kinds of sums.

    Progress is taken as one difference, not as a sum of many: it is a large number, and its steps are small.
    """
    ops = m.op_floats
    step_s = m.times[STEP_S]
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        could = available(m, i, m.job_floats[ARRIVED, j])
        done = ops[GAIN, i] * (ops[PROGRESS, i] - ops[MARK_PROGRESS, i])
        came = ops[GAIN, i] * (could - ops[MARK_AVAILABLE, i])
        ops[MARK_PROGRESS, i] = ops[PROGRESS, i]
        ops[MARK_AVAILABLE, i] = could
        for first in (0, SUMS):
            ops[first + SUM_INPUT, i] += came
            ops[first + SUM_DONE, i] += done
            ops[first + SUM_BUSY_S, i] += done * ops[NOW_SERVICE_S, i]
            ops[first + SUM_BLOCKED_S, i] += ops[GAIN, i] * ops[HELD, i] * ops[NOW_SERVICE_S, i]
            ops[first + SUM_WAITING_S, i] += ops[GAIN, i] * ops[WAITING, i] * step_s
            ops[first + SUM_OWNED_S, i] += steps * step_s * m.op_ints[PARALLELISM, i]
        ops[HELD, i] = 0.0
        ops[WAITING, i] = 0.0
    jobs = m.job_floats
    came = jobs[ARRIVED, j] - jobs[MARK_ARRIVED, j]
    jobs[MARK_ARRIVED, j] = jobs[ARRIVED, j]
    for first in (0, JOB_SUMS):
        jobs[first + SUM_CAME, j] += came
        jobs[first + SUM_LEFT, j] += jobs[NEW_LEFT, j]
        jobs[first + SUM_DELAY_S, j] += jobs[NEW_DELAY_S, j]
        jobs[first + SUM_DOWN_S, j] += jobs[NEW_DOWN_S, j]
    jobs[NEW_LEFT, j] = 0.0
    jobs[NEW_DELAY_S, j] = 0.0
    jobs[NEW_DOWN_S, j] = 0.0


@kernel
def forget(m, j, first, job_first):
    """Begin new sums, at these rows."""
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        for row in range(SUM_INPUT, SUM_INPUT + SUMS):
            m.op_floats[first + row, i] = 0.0
    for row in range(SUM_CAME, SUM_CAME + JOB_SUMS):
        m.job_floats[job_first + row, j] = 0.0


@kernel
def latency_s(m, j, first, end_s):
    """Mean delay of what was delivered; where nothing was, the age of the oldest record that waits."""
    left = m.job_floats[first + SUM_LEFT, j]
    if left > 0.0:
        return m.job_floats[first + SUM_DELAY_S, j] / left
    return max(0.0, end_s - m.job_floats[OLDEST_S, j])


@kernel
def write_snapshot(m, j, number, end_s):
    """The row of a snapshot that has ended; then new sums begin."""
    rows = m.history_parallelism.shape[0]
    place = number if m.clock[KEEPS_ALL] == 1 else number % m.clock[HISTORY]
    while place < rows:
        fill_snapshot(m, j, place, rows, end_s)
        if m.clock[KEEPS_ALL] == 1:
            break
        place += m.clock[HISTORY]
    forget(m, j, 0, 0)


@kernel
def fill_snapshot(m, j, place, rows, end_s):
    ops, table = m.op_floats, m.history_ops
    span_s = m.clock[SNAPSHOT_STEPS] * m.times[STEP_S]
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        queued = ops[GAIN, i] * (ops[MARK_AVAILABLE, i] - ops[PROGRESS, i])
        done = ops[SUM_DONE, i]
        latency = queued * ops[NOW_SERVICE_S, i] / ops[SERVERS, i]
        if done > 0.0:
            latency = ops[SUM_WAITING_S, i] / done
        table[ROW_INPUT * rows + place, i] = ops[SUM_INPUT, i] / span_s
        table[ROW_RATE * rows + place, i] = done / span_s
        table[ROW_BUSY * rows + place, i] = ops[SUM_BUSY_S, i] / ops[SUM_OWNED_S, i]
        table[ROW_BLOCKED * rows + place, i] = ops[SUM_BLOCKED_S, i] / ops[SUM_OWNED_S, i]
        table[ROW_QUEUED * rows + place, i] = queued
        table[ROW_LATENCY * rows + place, i] = latency
        m.history_parallelism[place, i] = m.op_ints[PARALLELISM, i]
    jobs = m.job_floats
    m.history_jobs[ROW_ARRIVALS * rows + place, j] = jobs[SUM_CAME, j] / span_s
    m.history_jobs[ROW_DELAY * rows + place, j] = latency_s(m, j, 0, end_s)
    m.history_jobs[ROW_LAG * rows + place, j] = jobs[ARRIVED, j] - jobs[DELIVERED, j]
    m.history_jobs[ROW_DOWN * rows + place, j] = jobs[SUM_DOWN_S, j] / span_s


@kernel
def write_interval(m, j, place, end_s):
    """The row of an interval that has ended, unless it is the first, which does not count; then new sums begin."""
    if place >= 0:
        ops, table = m.op_floats, m.interval_ops
        rows = m.interval_ops.shape[0] // SPAN_OPS
        span_s = m.clock[INTERVAL_STEPS] * m.times[STEP_S]
        busy = 0.0
        for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
            share = ops[SUMS + SUM_BUSY_S, i] / ops[SUMS + SUM_OWNED_S, i]
            busy += share
            table[SPAN_BUSY * rows + place, i] = share
            table[SPAN_BLOCKED * rows + place, i] = ops[SUMS + SUM_BLOCKED_S, i] / ops[SUMS + SUM_OWNED_S, i]
            table[SPAN_RATE * rows + place, i] = ops[SUMS + SUM_DONE, i] / span_s
            table[SPAN_QUEUED * rows + place, i] = ops[GAIN, i] * (ops[MARK_AVAILABLE, i] - ops[PROGRESS, i])
            table[SPAN_PARALLELISM * rows + place, i] = m.op_ints[PARALLELISM, i]
        jobs, table = m.job_floats, m.interval_jobs
        table[SPAN_LATENCY * rows + place, j] = latency_s(m, j, JOB_SUMS, end_s)
        table[SPAN_UTILISATION * rows + place, j] = busy / (m.job_ints[OP_LAST, j] - m.job_ints[OP_FIRST, j])
        table[SPAN_DELIVERED * rows + place, j] = jobs[JOB_SUMS + SUM_LEFT, j]
        table[SPAN_ARRIVED * rows + place, j] = jobs[JOB_SUMS + SUM_CAME, j]
        table[SPAN_LAG * rows + place, j] = jobs[ARRIVED, j] - jobs[DELIVERED, j]
        table[SPAN_DOWN * rows + place, j] = jobs[JOB_SUMS + SUM_DOWN_S, j]
    forget(m, j, SUMS, JOB_SUMS)
