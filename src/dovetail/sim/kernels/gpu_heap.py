"""Two binary heaps: completions of running jobs, whose times move, and what happens next to each machine."""

from __future__ import annotations

from dovetail.sim.kernels.gpu_state import DOWN, UP
from dovetail.sim.kernels.jit import kernel


@kernel
def before(heap, a, b):
    return heap[a].time < heap[b].time or (heap[a].time == heap[b].time and heap[a].id < heap[b].id)


# --- completions, by (time, job); jobs know their place -------------------------------------------------------------


@kernel
def rise(D, i):
    """Let the completion at place i rise to where it belongs."""
    heap = D.heap
    t = heap[i].time
    j = heap[i].id
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent].time < t or (heap[parent].time == t and heap[parent].id < j):
            break
        heap[i].time = heap[parent].time
        heap[i].id = heap[parent].id
        D.jobs[heap[i].id].heap_place = i
        i = parent
    heap[i].time = t
    heap[i].id = j
    D.jobs[j].heap_place = i


@kernel
def sink(D, i):
    """Let the completion at place i sink to where it belongs."""
    heap = D.heap
    size = D.world[0].heap_size
    t = heap[i].time
    j = heap[i].id
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and before(heap, child + 1, child):
            child += 1
        if heap[child].time > t or (heap[child].time == t and heap[child].id > j):
            break
        heap[i].time = heap[child].time
        heap[i].id = heap[child].id
        D.jobs[heap[i].id].heap_place = i
        i = child
    heap[i].time = t
    heap[i].id = j
    D.jobs[j].heap_place = i


@kernel
def set_completion(D, j, t):
    """Job j will complete at t, as things are now."""
    i = D.jobs[j].heap_place
    if i == -1:
        i = D.world[0].heap_size
        D.world[0].heap_size = i + 1
        D.heap[i].id = j
        D.heap[i].time = t
        rise(D, i)
        return
    earlier = t < D.heap[i].time
    D.heap[i].time = t
    if earlier:
        rise(D, i)
    else:
        sink(D, i)


@kernel
def drop_completion(D, j):
    i = D.jobs[j].heap_place
    if i == -1:
        return
    D.jobs[j].heap_place = -1
    last = D.world[0].heap_size - 1
    D.world[0].heap_size = last
    if i == last:
        return
    D.heap[i].time = D.heap[last].time
    D.heap[i].id = D.heap[last].id
    D.jobs[D.heap[i].id].heap_place = i
    rise(D, i)
    sink(D, D.jobs[D.heap[i].id].heap_place)


@kernel
def order_completions(D):
    """Make a heap of them again after any number of times have been changed in place."""
    size = D.world[0].heap_size
    for back in range(size // 2):
        sink(D, size // 2 - 1 - back)


# --- machines, by (time, kind, machine); each has exactly one entry -------------------------------------------------


@kernel
def machine_event(D, m):
    """What will happen to machine m next."""
    return DOWN if D.up[m] else UP


@kernel
def machine_before(D, t, m, i):
    """(t, kind, m) comes before the entry at place i."""
    heap = D.machine_heap
    if t != heap[i].time:
        return t < heap[i].time
    ours = machine_event(D, m)
    theirs = machine_event(D, heap[i].id)
    return ours < theirs or (ours == theirs and m < heap[i].id)


@kernel
def add_machine(D, m, t):
    heap = D.machine_heap
    i = D.world[0].machine_heap_size
    D.world[0].machine_heap_size = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if not machine_before(D, t, m, parent):
            break
        heap[i].time = heap[parent].time
        heap[i].id = heap[parent].id
        i = parent
    heap[i].time = t
    heap[i].id = m


@kernel
def next_of_first_machine(D, t):
    """The machine at the root, whose event has just been handled, has its next one at t."""
    heap = D.machine_heap
    size = D.world[0].machine_heap_size
    m = heap[0].id
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and machine_before(D, heap[child + 1].time, heap[child + 1].id, child):
            child += 1
        if machine_before(D, t, m, child):
            break
        heap[i].time = heap[child].time
        heap[i].id = heap[child].id
        i = child
    heap[i].time = t
    heap[i].id = m
