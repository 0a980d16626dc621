"""The operations that take longest when autoscalers decide, compiled; for all networks alike.

Products of matrices are left to numpy, whose library is faster than loops.  What is around them is not: numpy would go
over the same numbers several times.  `arrays.NumpyOps` is the twin of it, in the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dovetail.core.stream import Ints
from dovetail.schedulers.learned.stream.arrays import Array, NumpyOps, Slots
from dovetail.schedulers.learned.stream.graph import Singles

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"contract", "nsz"}}
ZERO = np.float32(0.0)


class CompiledOps(NumpyOps):
    def dense(self, x: Array, weight: Array, bias: Array) -> Array:
        found = x.reshape(-1, x.shape[-1]) @ weight
        add_and_cut(found, bias)
        return found.reshape(*x.shape[:-1], weight.shape[-1])

    def joined(self, nodes: Array, keep: Array, whose: Ints) -> Array:
        found = np.empty_like(nodes)
        join(nodes, keep, whose, found)
        return found

    def pooled(self, nodes: Array, whose: Ints) -> Array:
        found = np.zeros((len(nodes) - len(whose), nodes.shape[1], nodes.shape[3]), nodes.dtype)
        pool(nodes, whose, found)
        return found

    def gathered(
        self,
        projected: Array,
        chosen: Array,
        scores: Array,
        gumbel: Singles | None,
        near: Ints,
        there: Singles,
        slots: Slots,
    ) -> tuple[Array, Array]:
        worlds, count, operators = chosen.shape
        nodes = np.empty((operators + len(slots.whose), worlds, count, projected.shape[3]), projected.dtype)
        place = np.empty((len(slots.whose), worlds, count), np.int64)
        noise = np.zeros((worlds, count, operators, near.shape[1]), np.float32) if gumbel is None else gumbel
        gather(projected, chosen, scores, noise, near, there, slots.whose, nodes, place)
        return nodes, place

    def weighed(self, x: Array, share: Array) -> Array:
        found = np.zeros((x.shape[0], *x.shape[2:]), x.dtype)
        add_weighed(x, share, found)
        return found


@njit(**OPTIONS)
def add_and_cut(x, bias):
    """relu(x + b), in place."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            x[i, k] = max(x[i, k] + bias[k], ZERO)


@njit(**OPTIONS)
def join(nodes, keep, whose, out):
    """Operators first, then their neighbours, which are added to them."""
    slots, (count, width) = len(whose), nodes.shape[2:]
    operators, factor = len(nodes) - slots, keep[0]
    for i in range(operators):
        for w in range(nodes.shape[1]):
            for t in range(count):
                before, own, after = nodes[i, w, max(t - 1, 0)], nodes[i, w, t], nodes[i, w, min(t + 1, count - 1)]
                here = out[i, w, t]
                first, last = np.float32(t > 0), np.float32(t < count - 1)
                for k in range(width):
                    here[k] = factor * own[k] + first * before[k] + last * after[k]
    for s in range(slots):
        near, own = nodes[operators + s].reshape(-1), nodes[whose[s]].reshape(-1)
        here, there = out[operators + s].reshape(-1), out[whose[s]].reshape(-1)
        for k in range(len(near)):
            here[k] = factor * near[k] + own[k]
            there[k] += near[k]


@njit(**OPTIONS)
def pool(nodes, whose, out):
    """Sums over the third axis, neighbours with whose they are; divided by how many."""
    count, operators = nodes.shape[2], len(nodes) - len(whose)
    for i in range(len(nodes)):
        to = i if i < operators else whose[i - operators]
        for w in range(nodes.shape[1]):
            for t in range(count):
                for k in range(nodes.shape[3]):
                    out[to, w, k] += nodes[i, w, t, k]
    out /= np.float32(count)


@njit(**OPTIONS)
def gather(projected, chosen, scores, noise, near, there, whose, nodes, place):
    """Of those near an operator, the one with the highest score, then the next; the first of equal ones."""
    worlds, count, operators = chosen.shape
    free = np.empty(near.shape[1], np.bool_)
    slot = 0
    for i in range(operators):
        last = slot
        while last < len(whose) and whose[last] == i:
            last += 1
        for w in range(worlds):
            for t in range(count):
                at = chosen[w, t, i]
                nodes[i, w, t] = projected[w, at, i]
                for m in range(near.shape[1]):
                    free[m] = there[i, m] > ZERO
                for s in range(slot, last):
                    best, highest = -1, ZERO
                    for m in range(near.shape[1]):
                        if free[m]:
                            score = scores[w, at, near[i, m]] + noise[w, t, i, m]
                            if best < 0 or score > highest:
                                best, highest = m, score
                    free[best] = False
                    place[s, w, t] = best
                    nodes[operators + s, w, t] = projected[w, at, near[i, best]]
        slot = last


@njit(**OPTIONS)
def add_weighed(x, share, out):
    for w in range(x.shape[0]):
        for t in range(x.shape[1]):
            for i in range(x.shape[2]):
                here, to, much = x[w, t, i], out[w, i], share[w, t, i]
                for k in range(x.shape[3]):
                    to[k] += much * here[k]


COMPILED = CompiledOps()
