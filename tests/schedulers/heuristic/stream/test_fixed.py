"""stream/fixed and stream/random."""

import numpy as np
import pytest
from tests.schedulers.stream_views import decided, decisions_of, info_of, view_of

from dovetail.core.stream import Reason
from dovetail.schedulers.heuristic.stream.fixed import Fixed
from dovetail.schedulers.heuristic.stream.random import Random

INFO = info_of("source", "map", "sink", operator_max=np.array([10, 3, 10]))


def test_as_at_the_start():
    assert decided(Fixed(), INFO, view_of(INFO, [1, 2, 3])) == {}


def test_a_number_for_all_within_what_each_may_have():
    found = decisions_of(Fixed(Fixed.Params(parallelism=5)), INFO, view_of(INFO, [5, 1, 1]))
    assert [(one.operator, one.parallelism) for one in found] == [(1, 3), (2, 5)]
    assert {one.reason for one in found} == {Reason.OUTSIDE_AGENT}
    assert decided(Fixed(Fixed.Params(parallelism=5)), INFO, view_of(INFO, [5, 3, 5])) == {}


@pytest.mark.parametrize("parallelism", [0, -2])
def test_a_number_is_one_or_more(parallelism: int):
    with pytest.raises(ValueError, match="expected 1 or more"):
        Fixed.Params(parallelism=parallelism)


def test_what_is_drawn_is_within_the_limits_and_reaches_all_of_them():
    drawn = Random()
    drawn.reset(INFO, np.random.default_rng(3))
    view = view_of(INFO, [1, 1, 1])
    seen = [{one.operator: one.parallelism for one in drawn.decide(view._replace(time_s=60.0 * t))} for t in range(300)]
    assert {one.get(1, 1) for one in seen} == {1, 2, 3}
    assert {one.get(0, 1) for one in seen} == set(range(1, 11))


def test_nothing_is_drawn_without_a_chance():
    assert decided(Random(Random.Params(chance=0.0)), INFO, view_of(INFO, [1, 2, 3])) == {}
