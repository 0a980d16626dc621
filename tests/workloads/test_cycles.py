import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.workloads.cycles import find_cycles


def cycles(nodes, *edges):
    table = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return list(find_cycles(nodes, table[:, 0], table[:, 1]))


def test_a_tree_has_none():
    assert cycles(4, (0, 1), (0, 2), (2, 3)) == []


def test_the_circle_is_named_without_its_tail():
    [(edge, nodes)] = cycles(5, (0, 1), (1, 2), (2, 1), (2, 3), (3, 4))
    assert sorted(nodes) == [1, 2]
    assert edge in (1, 2)


def test_each_knot_gives_one():
    found = cycles(6, (0, 1), (1, 0), (3, 4), (4, 5), (5, 3))
    assert [sorted(nodes) for _, nodes in found] == [[0, 1], [3, 4, 5]]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[0] != e[1]), unique=True))
def test_what_is_found_is_a_cycle_and_is_found_if_there_is_one(edges):
    found = cycles(8, *edges)
    for edge, nodes in found:
        ring = set(zip(nodes, nodes[1:] + nodes[:1], strict=True))
        assert ring <= set(edges)
        assert edges[edge] in ring
    order = {}  # a topological order exists exactly when nothing is found
    left = set(range(8))
    while free := [n for n in left if not any(c == n and p in left for p, c in edges)]:
        order |= dict.fromkeys(free)
        left -= set(free)
    assert bool(found) == bool(left)
