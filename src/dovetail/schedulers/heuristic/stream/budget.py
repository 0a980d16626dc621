"""Whom to give less where all together want more than there are slots.

One instance after another is taken from the operator that would still have the most to spare: whose instances would be
the least busy without it.  So those with room give first, and once nobody has any left, all are short in proportion.
Nobody has less than one.
"""

from __future__ import annotations

import heapq

import numpy as np

from dovetail.core.stream import Floats, Ints


def within_slots(wanted: Ints, demand: Floats, slots: int) -> Ints:
    """(O,) instances, `slots` at most; `demand` are those busy all the time (nan: as many as are wanted)."""
    excess = int(wanted.sum()) - slots
    if excess <= 0:
        return wanted
    given = wanted.tolist()
    needed = np.where(np.isnan(demand), wanted, demand).tolist()
    heap = [(needed[i] / (count - 1), i) for i, count in enumerate(given) if count > 1]
    heapq.heapify(heap)
    while excess > 0 and heap:
        _, i = heap[0]
        given[i] -= 1
        excess -= 1
        if given[i] > 1:
            heapq.heapreplace(heap, (needed[i] / (given[i] - 1), i))
        else:
            heapq.heappop(heap)
    return np.array(given, dtype=np.int64)
