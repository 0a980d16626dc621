"""The doors into the stream kernels: one array of addresses is handed over instead of all the arrays.

See `dag_entry`.  With the JIT switched off there are no addresses: the memory itself is handed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from dovetail.sim.kernels.jit import entry, kernel
from dovetail.sim.kernels.stream_run import advance, begin, rescale
from dovetail.sim.kernels.stream_state import StreamMemory


def addresses(worlds: Sequence[StreamMemory]) -> Any:
    """(W, 3 * arrays): address, first and last axis of every array, in the order of the named tuple.

    Valid as long as the caller keeps the arrays.
    """
    if numba.config.DISABLE_JIT:
        return list(worlds)
    rows = [[[array.ctypes.data, array.shape[0], array.shape[-1]] for array in memory] for memory in worlds]
    return np.array(rows, dtype=np.int64).reshape(len(worlds), -1)


if numba.config.DISABLE_JIT:

    def opened(memory):
        return memory

else:
    from dovetail.sim.kernels.raw_arrays import array_at

    @kernel
    def opened(a):
        """The arrays behind the addresses."""
        return StreamMemory(
            array_at(a[0], None, a[2], np.int64),
            array_at(a[3], None, a[5], np.float64),
            array_at(a[6], a[7], a[8], np.int64),
            array_at(a[9], a[10], a[11], np.float64),
            array_at(a[12], a[13], a[14], np.int64),
            array_at(a[15], a[16], a[17], np.float64),
            array_at(a[18], None, a[20], np.int64),
            array_at(a[21], None, a[23], np.int64),
            array_at(a[24], a[25], a[26], np.float64),
            array_at(a[27], a[28], a[29], np.float64),
            array_at(a[30], a[31], a[32], np.float64),
            array_at(a[33], a[34], a[35], np.float64),
            array_at(a[36], a[37], a[38], np.int64),
            array_at(a[39], a[40], a[41], np.float64),
            array_at(a[42], a[43], a[44], np.float64),
            array_at(a[45], a[46], a[47], np.float64),
            array_at(a[48], a[49], a[50], np.float64),
        )


@entry
def enter_begin(at, first, last):
    for w in range(first, last):
        begin(opened(at[w]))


@entry
def enter_advance(at, first, last):
    """Worlds first .. last - 1 go on by an interval."""
    for w in range(first, last):
        advance(opened(at[w]))


@entry
def enter_rescale(at, first, last, wanted):
    """`wanted` (W, O): the parallelism that every operator is to have."""
    for w in range(first, last):
        rescale(opened(at[w]), wanted[w])
