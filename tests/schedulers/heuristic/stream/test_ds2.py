"""stream/ds2 on numbers."""

import numpy as np
import pytest
from tests.schedulers.stream_views import decided, decisions_of, info_of, view_of

from dovetail.core.stream import Reason
from dovetail.schedulers.heuristic.stream.ds2 import Ds2

CHAIN = info_of("source", "map", "sink")


def chain_view(parallelism: list[int], **changes):
    """Demands 0.5, 1.67 and 5: see test_measured."""
    held_up = {
        "op_input_rate": [100.0, 60.0, 120.0],
        "op_rate": [60.0, 60.0, 120.0],
        "op_busy": [0.3, 0.5, 1.0],
    }
    return view_of(CHAIN, parallelism, **(held_up | changes))


def test_one_pass_sets_everybody_right_although_only_the_last_is_a_bottleneck():
    found = decisions_of(Ds2(), CHAIN, chain_view([1, 2, 3]))
    assert [(one.operator, one.parallelism, one.reason) for one in found] == [(2, 5, Reason.TRUE_RATE)]
    assert found[0].demand == pytest.approx(5.0)


def test_a_lower_utilisation_asks_for_more():
    assert decided(Ds2(Ds2.Params(utilisation=0.5)), CHAIN, chain_view([1, 2, 3])) == {1: 4, 2: 10}


def test_within_the_band_a_job_is_left_alone_and_outside_all_of_it_is_set_right():
    calm = {"op_input_rate": [60.0, 60.0, 120.0]}  # demands 0.3, 1 and 3
    at_half = Ds2(Ds2.Params(utilisation=0.5, hold=0.2))
    assert decided(
        Ds2(Ds2.Params(utilisation=0.5)), CHAIN, chain_view([1, 3, 5], **calm, op_busy=[0.3, 1 / 3, 0.6])
    ) == {
        1: 2,
        2: 6,
    }
    assert decided(at_half, CHAIN, chain_view([1, 3, 5], **calm, op_busy=[0.3, 1 / 3, 0.6])) == {}
    assert decided(at_half, CHAIN, chain_view([1, 4, 5], **calm, op_busy=[0.3, 0.25, 0.6])) == {1: 2, 2: 6}


def test_no_band_lets_an_operator_be_overloaded():
    full = {"op_input_rate": [60.0, 60.0, 130.0], "op_rate": [60.0, 60.0, 120.0]}
    assert decided(Ds2(Ds2.Params(utilisation=0.9, hold=0.5)), CHAIN, chain_view([1, 2, 3], **full)) == {2: 4}


def test_who_was_not_measured_or_stands_still_keeps_what_it_has():
    idle = view_of(CHAIN, [1, 7, 3], op_input_rate=[10.0, 0.0, 0.0], op_rate=0.0)
    assert decided(Ds2(), CHAIN, idle) == {}
    assert decided(Ds2(), CHAIN, chain_view([1, 2, 3], job_down=[True])) == {}


def test_never_more_than_the_operator_may_have_nor_than_there_are_slots():
    tight = info_of("source", "map", "sink", operator_max=np.array([10, 10, 4]))
    assert decided(Ds2(), tight, chain_view([1, 2, 3])) == {2: 4}
    short = info_of("source", "map", "sink", slots=7)
    found = decisions_of(Ds2(), short, chain_view([1, 2, 3]))
    assert [(one.operator, one.parallelism, one.reason) for one in found] == [(2, 4, Reason.OVER_BUDGET)]


@pytest.mark.parametrize("wrong", [{"utilisation": 0.0}, {"utilisation": 1.1}, {"hold": 1.0}, {"window_s": -1.0}])
def test_parameters_have_ranges(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        Ds2.Params(**wrong)
