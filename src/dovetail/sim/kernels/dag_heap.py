"""The queue of executor events: a binary heap ordered by (time, kind, executor).  Each executor has at most one."""

from __future__ import annotations

from dovetail.sim.kernels.dag_state import KIND_SHIFT
from dovetail.sim.kernels.jit import kernel


@kernel
def sift_down(heap, size, t, k):
    """Put (t, k) at the root of the heap and let it sink."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right].time < heap[child].time
            or (heap[right].time == heap[child].time and heap[right].key < heap[child].key)
        ):
            child = right
        if heap[child].time > t or (heap[child].time == t and heap[child].key > k):
            break
        heap[i].time = heap[child].time
        heap[i].key = heap[child].key
        i = child
    heap[i].time = t
    heap[i].key = k


@kernel
def push_event(D, t, kind, e):
    heap = D.heap
    k = (kind << KIND_SHIFT) | e
    i = D.world[0].heap_size
    D.world[0].heap_size = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent].time < t or (heap[parent].time == t and heap[parent].key < k):
            break
        heap[i].time = heap[parent].time
        heap[i].key = heap[parent].key
        i = parent
    heap[i].time = t
    heap[i].key = k


@kernel
def pop_event(D):
    size = D.world[0].heap_size - 1
    D.world[0].heap_size = size
    if size > 0:
        sift_down(D.heap, size, D.heap[size].time, D.heap[size].key)
