"""An interval of a stream world: all steps of all its jobs; and rescaling, which comes between two intervals."""

from __future__ import annotations

from math import floor, sqrt

from dovetail.sim.kernels.jit import kernel
from dovetail.sim.kernels.stream_queue import solved
from dovetail.sim.kernels.stream_rows import gather, write_interval, write_snapshot
from dovetail.sim.kernels.stream_state import (
    ARRIVED,
    AT_REACH,
    BIN_STEPS,
    BUFFER,
    CHECKPOINT_S,
    DUE_S,
    EXPONENT,
    FULL,
    FULL_STRIDE,
    GAIN,
    INTERVAL_STEPS,
    LENGTH_S,
    MARK_AVAILABLE,
    MARK_PROGRESS,
    MOST,
    NEW_DOWN_S,
    NOW_SERVICE_S,
    OP_FIRST,
    OP_LAST,
    PARALLELISM,
    PARENT_FIRST,
    PARENT_LAST,
    PROGRESS,
    RESCALED_S,
    RESTART_S,
    RESTORE_MB_S,
    ROOM,
    SAVED,
    SERVERS,
    SERVICE_S,
    SKEW,
    SLACK_S,
    SLOPE,
    SNAPSHOT_STEPS,
    SPAN_JOBS,
    SPAN_RESCALED,
    STANDING,
    STATE_MB,
    STEP,
    STEP_S,
    STRIDE,
    UP_S,
    VARIABILITY,
)
from dovetail.sim.kernels.stream_step import deliver, hold_up, move, wait

UNSET = -1.0  # of LENGTH_S: rates are to be worked out


@kernel
def set_size(m, i, parallelism):
    """What follows from the number of instances alone."""
    ops = m.op_floats
    m.op_ints[PARALLELISM, i] = parallelism
    servers = 1.0 / (ops[SKEW, i] + (1.0 - ops[SKEW, i]) / parallelism)
    ops[SERVERS, i] = servers
    ops[EXPONENT, i] = sqrt(2.0 * (servers + 1.0))
    most = parallelism * (ops[BUFFER, i] + 1.0)
    ops[FULL, i] = 1.0
    ops[ROOM, i] = 0.0
    if ops[GAIN, i] > 0.0:
        ops[ROOM, i] = most / ops[GAIN, i]
    if m.op_ints[PARENT_FIRST, i] < m.op_ints[PARENT_LAST, i] and ops[VARIABILITY, i] > 0.0:
        ops[FULL, i] = solved(ops, i, STANDING, servers, most, -1.0)
    ops[STANDING + AT_REACH, i] = -1.0


@kernel
def set_rates(m, j, b, length_s):
    """What follows from the bin, for its noise, and from how long the job is up in a step."""
    ops = m.op_floats
    m.job_floats[LENGTH_S, j] = length_s
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        service_s = ops[SERVICE_S, i] * m.factor[b, i]
        most = ops[SERVERS, i] * length_s / service_s
        ops[NOW_SERVICE_S, i] = service_s
        ops[MOST, i] = most
        ops[SLOPE, i] = ops[SERVERS, i] + most
        if ops[GAIN, i] > 0.0:
            ops[STRIDE, i] = most / ops[GAIN, i]
            ops[FULL_STRIDE, i] = most * ops[FULL, i] / ops[GAIN, i]
        ops[AT_REACH, i] = -1.0


@kernel
def checkpoint(m, j, end_s):
    """Everything of the first so many records has been processed by all operators."""
    least = m.op_floats[PROGRESS, m.job_ints[OP_FIRST, j]]
    for i in range(m.job_ints[OP_FIRST, j], m.job_ints[OP_LAST, j]):
        least = min(least, m.op_floats[PROGRESS, i])
    jobs = m.job_floats
    jobs[SAVED, j] = least
    taken = floor((end_s - jobs[UP_S, j] + SLACK_S) / jobs[CHECKPOINT_S, j])
    jobs[DUE_S, j] = jobs[UP_S, j] + (taken + 1.0) * jobs[CHECKPOINT_S, j]


@kernel
def advance_job(m, j, first, last, counts):
    """Steps first .. last - 1."""
    jobs = m.job_floats
    step_s = m.times[STEP_S]
    bin_steps = m.clock[BIN_STEPS]
    gathered = first
    for step in range(first, last):
        b = step // bin_steps
        part = step + 1 - b * bin_steps
        if part == 1:
            jobs[LENGTH_S, j] = UNSET
        start_s = step * step_s
        end_s = (step + 1) * step_s
        if part == bin_steps:
            jobs[ARRIVED, j] = m.arrived[j, b + 1]
        else:
            jobs[ARRIVED, j] = m.arrived[j, b] + m.rate[j, b] * (part * step_s)
        length_s = min(step_s, end_s - jobs[UP_S, j])
        if length_s > SLACK_S:
            if length_s != jobs[LENGTH_S, j]:
                set_rates(m, j, b, length_s)
            hold_up(m, j)
            deliver(m, j, move(m, j), start_s, end_s, counts)
            jobs[NEW_DOWN_S, j] += step_s - length_s
            if end_s >= jobs[DUE_S, j] - SLACK_S:
                checkpoint(m, j, end_s)
        else:
            if jobs[LENGTH_S, j] == UNSET:
                set_rates(m, j, b, step_s)
            wait(m, j)
            jobs[NEW_DOWN_S, j] += step_s
        done = step + 1
        snapshot = done % m.clock[SNAPSHOT_STEPS] == 0
        if snapshot or part == bin_steps or done == last:
            gather(m, j, done - gathered)
            gathered = done
        if snapshot:
            write_snapshot(m, j, done // m.clock[SNAPSHOT_STEPS] - 1, end_s)


@kernel
def advance(m):
    """One interval."""
    first = m.clock[STEP]
    last = first + m.clock[INTERVAL_STEPS]
    place = first // m.clock[INTERVAL_STEPS] - 1
    for j in range(m.job_ints.shape[1]):
        advance_job(m, j, first, last, place >= 0)
        write_interval(m, j, place, last * m.times[STEP_S])
    m.clock[STEP] = last


@kernel
def begin(m):
    """What the start of a world needs worked out."""
    for i in range(m.op_ints.shape[1]):
        set_size(m, i, m.op_ints[PARALLELISM, i])
    for j in range(m.job_ints.shape[1]):
        m.job_floats[LENGTH_S, j] = UNSET


@kernel
def rescale(m, wanted):
    """Give the operators so many instances; jobs in which that changes anything start anew from their checkpoints."""
    jobs = m.job_floats
    now_s = m.clock[STEP] * m.times[STEP_S]
    for j in range(m.job_ints.shape[1]):
        first = m.job_ints[OP_FIRST, j]
        last = m.job_ints[OP_LAST, j]
        changes = False
        state_mb = 0.0
        for i in range(first, last):
            changes = changes or wanted[i] != m.op_ints[PARALLELISM, i]
            state_mb += m.op_floats[STATE_MB, i]
        if not changes:
            continue
        for i in range(first, last):
            if wanted[i] != m.op_ints[PARALLELISM, i]:
                set_size(m, i, wanted[i])
            m.op_floats[PROGRESS, i] = jobs[SAVED, j]
            m.op_floats[MARK_PROGRESS, i] = jobs[SAVED, j]
            if m.op_ints[PARENT_FIRST, i] < m.op_ints[PARENT_LAST, i]:
                m.op_floats[MARK_AVAILABLE, i] = jobs[SAVED, j]
        jobs[LENGTH_S, j] = UNSET
        jobs[RESCALED_S, j] = now_s
        jobs[UP_S, j] = now_s + jobs[RESTART_S, j] + state_mb / m.times[RESTORE_MB_S]
        jobs[DUE_S, j] = jobs[UP_S, j] + jobs[CHECKPOINT_S, j]
        rows = m.interval_jobs.shape[0] // SPAN_JOBS
        m.interval_jobs[SPAN_RESCALED * rows + m.clock[STEP] // m.clock[INTERVAL_STEPS] - 1, j] = 1.0
