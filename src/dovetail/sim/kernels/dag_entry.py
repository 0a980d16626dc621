"""The doors into the kernels.

Handing numba three dozen arrays of records at each call costs more than the call itself does.  So Python hands
over one array of addresses, and the arrays are put together again inside.  With the JIT switched off there are no
addresses: the memory itself is handed over.
"""

from __future__ import annotations

import numba
import numpy as np

from dovetail.sim.kernels import dag_state as layout
from dovetail.sim.kernels.dag_decisions import apply, apply_at, decide_and_step, held, run_compiled, step
from dovetail.sim.kernels.dag_reset import reset
from dovetail.sim.kernels.dag_state import (
    COMMITMENT,
    DAG,
    DECISION_RECORD,
    EDGE,
    EVENT,
    EXECUTOR,
    GROUP,
    JOB,
    LEVEL,
    QUEUE,
    ROW,
    SETTINGS,
    SLOT,
    STAGE,
    TASK_RECORD,
    WORLD,
    DagBuffers,
    DagMemory,
    DagOne,
    DagRecords,
)
from dovetail.sim.kernels.jit import entry, kernel

JOB_INTS = layout.JOB_INTS
JOB_FLOATS = layout.JOB_FLOATS
STAGE_INTS = layout.STAGE_INTS
STAGE_FLOATS = layout.STAGE_FLOATS
STAGE_FLAGS = layout.STAGE_FLAGS
EDGE_INTS = layout.EDGE_INTS


def addresses(memory: DagMemory) -> np.ndarray[tuple[int], np.dtype[np.int64]] | DagMemory:
    """(address, length of the last axis) of every array, in the order of the named tuples.

    Valid as long as the caller keeps the arrays.
    """
    if numba.config.DISABLE_JIT:
        return memory
    arrays = [array for part in memory for array in part]
    return np.array([[array.ctypes.data, array.shape[-1]] for array in arrays], dtype=np.int64).ravel()


if numba.config.DISABLE_JIT:

    def opened(memory):
        return memory

else:
    from dovetail.sim.kernels.raw_arrays import array_at

    @kernel
    def opened(a):
        """The arrays behind the addresses."""
        one = DagOne(
            array_at(a[0], None, a[1], WORLD),
            array_at(a[2], None, a[3], JOB),
            array_at(a[4], None, a[5], STAGE),
            array_at(a[6], None, a[7], np.int64),
            array_at(a[8], None, a[9], EXECUTOR),
            array_at(a[10], None, a[11], COMMITMENT),
            array_at(a[12], None, a[13], EVENT),
            array_at(a[14], None, a[15], GROUP),
            array_at(a[16], None, a[17], QUEUE),
            array_at(a[18], None, a[19], np.int64),
            array_at(a[20], None, a[21], SETTINGS),
            array_at(a[22], None, a[23], LEVEL),
            array_at(a[24], None, a[25], np.int64),
            array_at(a[26], None, a[27], DAG),
            array_at(a[28], None, a[29], ROW),
            array_at(a[30], None, a[31], EDGE),
            array_at(a[32], None, a[33], np.int64),
            array_at(a[34], None, a[35], np.int64),
            array_at(a[36], None, a[37], SLOT),
            array_at(a[38], None, a[39], np.float64),
        )
        records = DagRecords(
            array_at(a[40], None, a[41], TASK_RECORD),
            array_at(a[42], None, a[43], DECISION_RECORD),
        )
        buffers = DagBuffers(
            array_at(a[44], JOB_INTS, a[45], np.int64),
            array_at(a[46], None, a[47], np.int64),
            array_at(a[48], JOB_FLOATS, a[49], np.float64),
            array_at(a[50], STAGE_INTS, a[51], np.int64),
            array_at(a[52], STAGE_FLOATS, a[53], np.float64),
            array_at(a[54], STAGE_FLAGS, a[55], np.bool_),
            array_at(a[56], EDGE_INTS, a[57], np.int64),
            array_at(a[58], None, a[59], np.int64),
        )
        return DagMemory(one, records, buffers)


@entry
def enter_reset(a, executor_class, job_dag, arrival_s, weight, deadline_s, duration_key, failure_key, horizon_s):
    m = opened(a)
    reset(m.one, executor_class, job_dag, arrival_s, weight, deadline_s, duration_key, failure_key, horizon_s)


@entry
def enter_step(a, decline, counts):
    m = opened(a)
    return step(m.one, m.records, m.buffers, decline, counts)


@entry
def enter_apply(a, counts, stage, limit, kind, reason):
    m = opened(a)
    return apply_at(m.one, m.records, m.buffers, counts, stage, limit, kind, reason)


@entry
def enter_apply_to(a, job, stage, limit, kind):
    """A decision that names job and stage as the workload does; the executors given, or minus why it was refused."""
    m = opened(a)
    return apply(m.one, m.records, job, stage, limit, kind, 0)


@entry
def enter_decide(a, counts, stage, limit, kind, reason):
    m = opened(a)
    return decide_and_step(m.one, m.records, m.buffers, counts, stage, limit, kind, reason)


@entry
def enter_held(a, job):
    return held(opened(a).one, job)


@entry
def enter_run(function, params, memory, out, a, counts):
    m = opened(a)
    return run_compiled(function, params, memory, out, m.one, m.records, m.buffers, counts)
