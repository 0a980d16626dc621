"""Finds circles in many small graphs at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail.core.dag import Bools, Ints


def find_cycles(num_nodes: int, parent: Ints, child: Ints) -> Iterator[tuple[int, list[int]]]:
    """One cycle of each knot: an edge of it, and its nodes in order."""
    left = _in_knots(num_nodes, parent, child)
    inside = np.flatnonzero(left[parent] & left[child])
    edge_to: dict[int, list[int]] = {}
    for edge in inside:
        edge_to.setdefault(int(parent[edge]), []).append(int(edge))
    done: set[int] = set()
    for start in edge_to:
        path: list[int] = []
        node = start
        while node not in done:
            done.add(node)
            path.append(node)
            node = int(child[edge_to[node][0]])
        if node in path:
            yield edge_to[path[-1]][0], path[path.index(node) :]


def _in_knots(num_nodes: int, parent: Ints, child: Ints) -> Bools:
    """(num_nodes,) nodes that remain when ends are taken off: those without parents or without children."""
    left = np.ones(num_nodes, dtype=np.bool_)
    while True:
        live = left[parent] & left[child]
        has_parent = np.zeros(num_nodes, dtype=np.bool_)
        has_child = np.zeros(num_nodes, dtype=np.bool_)
        has_parent[child[live]] = True
        has_child[parent[live]] = True
        still = left & has_parent & has_child
        if np.array_equal(still, left):
            return left
        left = still
