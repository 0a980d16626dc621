"""What actions mean."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.schedulers.learned.stream.action import instances, within_slots


def wanted(info, action, now, demand, value):
    now = np.full(7, now)
    return int(instances(action, info, now, np.full(7, demand), np.full(7, float(value)))[0])


def test_demand_is_divided_by_a_target_that_the_action_moves(info):
    assert wanted(info, "demand", 1, 3.5, 0.0) == 5  # 3.5 / 0.7
    assert wanted(info, "demand", 1, 3.5, 1.0) == 10  # 12.3, but no more than 10
    assert wanted(info, "demand", 9, 3.5, -1.0) == 2
    assert wanted(info, "demand", 1, 0.0, 0.0) == 1


def test_what_is_nearly_right_stays(info):
    assert wanted(info, "demand", 5, 3.9, 0.0) == 5  # 5.57
    assert wanted(info, "demand", 5, 4.0, 0.0) == 6  # 5.71


@pytest.mark.parametrize(("action", "after"), [("relative", 2), ("published", 1)])
def test_the_published_action_hardly_leaves_one(info, action, after):
    assert wanted(info, action, 1, 0.0, 0.7) == after
    assert wanted(info, action, 4, 0.0, 0.0) == 4
    assert wanted(info, action, 4, 0.0, -1.0) < 4


def test_slots_are_taken_from_whoever_wants_most():
    assert list(within_slots(np.array([5, 3, 1]), 7)) == [3, 3, 1]
    assert list(within_slots(np.array([2, 3, 1]), 7)) == [2, 3, 1]
