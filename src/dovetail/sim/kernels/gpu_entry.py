"""The doors into the gpu kernels: one array of addresses is handed over instead of dozens of arrays.

See `dag_entry`.  With the JIT switched off there are no addresses: the memory itself is handed over.
"""

from __future__ import annotations

import numba
import numpy as np

from dovetail.sim.kernels import gpu_state as layout
from dovetail.sim.kernels.gpu_decisions import answer
from dovetail.sim.kernels.gpu_reset import reset
from dovetail.sim.kernels.gpu_state import (
    DECISION_RECORD,
    EVENT,
    JOB,
    MACHINE,
    MACHINE_RECORD,
    ROW,
    ROW_RECORD,
    SEGMENT_RECORD,
    SETTINGS,
    SPEED_RECORD,
    WORLD,
    GpuBuffers,
    GpuMemory,
    GpuOne,
    GpuRecords,
)
from dovetail.sim.kernels.gpu_view import run_compiled, step
from dovetail.sim.kernels.jit import entry, kernel

FREE_FLOATS = layout.FREE_FLOATS
JOB_INTS = layout.JOB_INTS
JOB_FLOATS = layout.JOB_FLOATS
RUN_INTS = layout.RUN_INTS
RUN_FLOATS = layout.RUN_FLOATS
ROW_INTS = layout.ROW_INTS


def addresses(memory: GpuMemory) -> np.ndarray[tuple[int], np.dtype[np.int64]] | GpuMemory:
    """(address, first axis, last axis) of every array, in the order of the named tuples.

    Valid as long as the caller keeps the arrays.
    """
    if numba.config.DISABLE_JIT:
        return memory
    arrays = [array for part in memory for array in part]
    rows = [[array.ctypes.data, array.shape[0], array.shape[-1]] for array in arrays]
    return np.array(rows, dtype=np.int64).ravel()


if numba.config.DISABLE_JIT:

    def opened(memory):
        return memory

else:
    from dovetail.sim.kernels.raw_arrays import array_at

    @kernel
    def opened(a):
        """The arrays behind the addresses."""
        one = GpuOne(
            array_at(a[0], None, a[2], SETTINGS),
            array_at(a[3], None, a[5], WORLD),
            array_at(a[6], None, a[8], np.float64),
            array_at(a[9], None, a[11], np.float64),
            array_at(a[12], None, a[14], JOB),
            array_at(a[15], None, a[17], EVENT),
            array_at(a[18], None, a[20], ROW),
            array_at(a[21], None, a[23], MACHINE),
            array_at(a[24], None, a[26], EVENT),
            array_at(a[27], None, a[29], np.bool_),
            array_at(a[30], a[31], a[32], np.float64),
            array_at(a[33], FREE_FLOATS, a[35], np.float64),
            array_at(a[36], None, a[38], np.int64),
            array_at(a[39], a[40], a[41], np.float64),
            array_at(a[42], None, a[44], np.int64),
            array_at(a[45], None, a[47], np.float64),
            array_at(a[48], None, a[50], np.int64),
            array_at(a[51], None, a[53], np.int64),
            array_at(a[54], None, a[56], np.int64),
            array_at(a[57], None, a[59], np.int64),
            array_at(a[60], JOB_INTS, a[62], np.int64),
            array_at(a[63], JOB_FLOATS, a[65], np.float64),
        )
        buffers = GpuBuffers(
            array_at(a[66], RUN_INTS, a[68], np.int64),
            array_at(a[69], RUN_FLOATS, a[71], np.float64),
            array_at(a[72], ROW_INTS, a[74], np.int64),
            array_at(a[75], a[76], a[77], np.int64),
            array_at(a[78], None, a[80], np.int64),
            array_at(a[81], a[82], a[83], np.float64),
            array_at(a[84], a[85], a[86], np.int64),
        )
        records = GpuRecords(
            array_at(a[87], None, a[89], SEGMENT_RECORD),
            array_at(a[90], None, a[92], ROW_RECORD),
            array_at(a[93], None, a[95], DECISION_RECORD),
            array_at(a[96], None, a[98], SPEED_RECORD),
            array_at(a[99], None, a[101], MACHINE_RECORD),
        )
        return GpuMemory(one, buffers, records)


@entry
def enter_reset(a):
    reset(opened(a).one)


@entry
def enter_step(a, counts):
    m = opened(a)
    return step(m.one, m.buffers, m.records, counts)


@entry
def enter_answer(a, orders, count, machines, scores):
    m = opened(a)
    return answer(m.one, m.buffers, m.records, orders, count, machines, scores)


@entry
def enter_run(function, params, memory, wants_running, a, counts):
    m = opened(a)
    return run_compiled(function, params, memory, wants_running, m.one, m.buffers, m.records, counts)
