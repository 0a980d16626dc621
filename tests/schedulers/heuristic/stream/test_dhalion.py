"""stream/dhalion on numbers."""

import numpy as np
import pytest
from tests.schedulers.stream_views import decided, decisions_of, info_of, view_of

from dovetail.core.stream import Reason
from dovetail.schedulers.heuristic.stream.dhalion import Dhalion

CHAIN = info_of("source", "map", "sink")
MOVING = {"op_input_rate": 10.0, "op_rate": 10.0, "op_busy": 0.6}


def test_the_bottleneck_is_the_first_that_is_not_held_up_and_grows_by_the_factor():
    """Held up for a fifth of the time: 1 + 0.2 / 0.8 = 1.25 times 4."""
    view = view_of(CHAIN, [2, 4, 4], **MOVING, op_blocked=[0.4, 0.2, 0.0])
    found = decisions_of(Dhalion(), CHAIN, view)
    assert [(one.operator, one.parallelism, one.reason) for one in found] == [(2, 5, Reason.BACK_PRESSURE)]


def test_the_factor_is_ten_at_most():
    wide = info_of("source", "map", "sink", operator_max=np.full(3, 100))
    assert decided(Dhalion(), wide, view_of(wide, [2, 4, 4], **MOVING, op_blocked=[0.0, 0.99, 0.0])) == {2: 40}


def test_of_several_children_the_one_at_which_records_wait_longest():
    fork = info_of("source", "quick", "slow", edges=[(0, 1), (0, 2)])
    view = view_of(fork, [2, 2, 2], **MOVING, op_blocked=[0.5, 0.0, 0.0], op_latency_s=[9.0, 0.1, 3.0])
    assert decided(Dhalion(), fork, view) == {2: 4}


def test_a_source_that_cannot_keep_up_has_nobody_to_hold_up():
    """It does 10 of 20: 1 + 0.5 / 0.5."""
    view = view_of(CHAIN, [2, 4, 4], op_input_rate=[20.0, 10.0, 10.0], op_rate=10.0, op_busy=[1.0, 0.6, 0.6])
    assert decided(Dhalion(), CHAIN, view) == {0: 4}


def test_idle_operators_shrink_if_nothing_waits_and_nobody_is_held_up():
    calm = {"op_input_rate": 10.0, "op_rate": 10.0, "op_busy": [0.6, 0.3, 0.4]}
    found = decisions_of(Dhalion(), CHAIN, view_of(CHAIN, [2, 10, 1], **calm))
    assert [(one.operator, one.parallelism, one.reason) for one in found] == [(1, 8, Reason.IDLE)]
    waits = view_of(CHAIN, [2, 10, 1], **calm, op_queued=[100.0, 0.0, 0.0])
    assert decided(Dhalion(), CHAIN, waits) == {}
    held_up = view_of(CHAIN, [2, 10, 1], **calm, op_blocked=[0.0, 0.2, 0.0])
    assert decided(Dhalion(), CHAIN, held_up) == {2: 2}


def test_a_little_back_pressure_is_no_symptom_and_a_job_that_stands_still_is_left_alone():
    assert decided(Dhalion(), CHAIN, view_of(CHAIN, [2, 4, 4], **MOVING, op_blocked=[0.0, 0.04, 0.0])) == {}
    down = view_of(CHAIN, [2, 4, 4], **MOVING, op_blocked=[0.0, 0.4, 0.0], job_down=[True])
    assert decided(Dhalion(), CHAIN, down) == {}


@pytest.mark.parametrize("wrong", [{"threshold": 0.0}, {"idle": 1.0}, {"shrink": 0.0}, {"queue_s": -1.0}])
def test_parameters_have_ranges(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        Dhalion.Params(**wrong)
