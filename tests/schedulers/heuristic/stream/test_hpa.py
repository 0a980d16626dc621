"""stream/hpa on numbers."""

import numpy as np
import pytest
from tests.schedulers.stream_views import decided, decisions_of, info_of, view_of

from dovetail.core.stream import Reason
from dovetail.schedulers.heuristic.stream.hpa import Hpa, most_after

ONE = info_of("op")


def test_desired_is_current_times_metric_over_target_rounded_up():
    """4 * 0.95 / 0.8 = 4.75."""
    found = decisions_of(Hpa(), ONE, view_of(ONE, [4], op_busy=0.95))
    assert [(one.parallelism, one.reason) for one in found] == [(5, Reason.METRIC_OVER_TARGET)]
    assert found[0].demand == pytest.approx(3.8)


@pytest.mark.parametrize("busy", [0.72, 0.8, 0.88])
def test_within_the_tolerance_nothing_changes(busy: float):
    assert decided(Hpa(), ONE, view_of(ONE, [9], op_busy=busy)) == {}


def test_just_outside_of_it_something_does():
    assert decided(Hpa(), ONE, view_of(ONE, [9], op_busy=0.889)) == {0: 10}
    assert decided(Hpa(), ONE, view_of(ONE, [9], op_busy=0.70)) == {0: 8}


def test_a_fall_goes_no_lower_than_the_highest_recommendation_of_300_s():
    """The newest says 2, the first of the last five 5, the one before that 8."""
    busy = np.array([[0.8], [0.5], [0.2], [0.2], [0.2], [0.2]])
    found = decisions_of(Hpa(), ONE, view_of(ONE, [8], rows=6, op_busy=busy))
    assert [(one.parallelism, one.reason) for one in found] == [(5, Reason.METRIC_UNDER_TARGET)]
    assert decided(Hpa(Hpa.Params(stabilisation_s=0.0)), ONE, view_of(ONE, [8], rows=6, op_busy=busy)) == {0: 2}
    assert decided(Hpa(Hpa.Params(stabilisation_s=360.0)), ONE, view_of(ONE, [8], rows=6, op_busy=busy)) == {}


def test_a_rise_is_taken_at_once():
    busy = np.array([[0.2], [0.2], [0.2], [0.2], [1.0]])
    assert decided(Hpa(), ONE, view_of(ONE, [4], op_busy=busy)) == {0: 5}
    assert decided(Hpa(Hpa.Params(metric_s=300.0)), ONE, view_of(ONE, [4], op_busy=busy)) == {0: 2}


@pytest.mark.parametrize(("interval_s", "most"), [(15.0, [5, 8, 20]), (30.0, [10, 16, 40]), (60.0, [40, 64, 160])])
def test_a_rise_is_limited_to_twice_as_many_or_four_more_in_15_s(interval_s: float, most: list[int]):
    assert most_after(np.array([1, 4, 10]), interval_s).tolist() == most


def test_the_limit_holds():
    quick = info_of("op", interval_s=15.0, operator_max=np.array([100]))
    assert decided(Hpa(Hpa.Params(target=0.1)), quick, view_of(quick, [2], op_busy=1.0)) == {0: 6}


def test_time_in_which_the_job_stood_still_does_not_count():
    view = view_of(ONE, [4], op_busy=0.475, job_down_share=0.5)
    assert decided(Hpa(), ONE, view) == {0: 5}
    assert decided(Hpa(), ONE, view_of(ONE, [4], op_busy=0.0, job_down_share=1.0)) == {}
    assert decided(Hpa(), ONE, view_of(ONE, [4], op_busy=1.0, job_down=[True])) == {}


@pytest.mark.parametrize(
    "wrong", [{"target": 0.0}, {"tolerance": -0.1}, {"stabilisation_s": -1.0}, {"metric_s": np.inf}]
)
def test_parameters_have_ranges(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        Hpa.Params(**wrong)
