"""Who gets less where slots are short."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.schedulers.heuristic.stream.budget import within_slots


def cut(wanted: list[int], demand: list[float], slots: int) -> list[int]:
    return within_slots(np.array(wanted), np.array(demand), slots).tolist()


def test_nothing_is_taken_where_there_is_room():
    assert cut([3, 4], [1.0, 1.0], 7) == [3, 4]


def test_those_with_room_give_first():
    """The second has 3 of 4 idle: without two of them it is half busy, and the first three quarters."""
    assert cut([4, 4], [3.0, 1.0], 7) == [4, 3]
    assert cut([4, 4], [3.0, 1.0], 6) == [4, 2]


def test_once_nobody_has_room_all_are_short_in_proportion():
    assert cut([8, 4, 2], [8.0, 4.0, 2.0], 7) == [4, 2, 1]


def test_who_was_not_measured_has_nothing_to_spare():
    assert cut([4, 4], [np.nan, 1.0], 6) == [4, 2]


@given(st.lists(st.tuples(st.integers(1, 12), st.floats(0, 12)), min_size=1, max_size=20), st.integers(0, 100))
def test_never_below_one_and_never_above_what_was_wanted(operators: list[tuple[int, float]], more: int):
    wanted, demand = [one[0] for one in operators], [one[1] for one in operators]
    slots = len(wanted) + more
    found = cut(wanted, demand, slots)
    assert sum(found) == min(slots, sum(wanted))
    assert all(1 <= given <= asked for given, asked in zip(found, wanted, strict=True))
