"""elastic/rrh on toys."""

import numpy as np
import pytest
from tests.schedulers.heuristic.elastic.playing import play

from dovetail.core.elastic import Reason, utility
from dovetail.schedulers.heuristic.elastic.rrh import Rrh, slope
from dovetail.testing.elastic_tiny import TinyJob

URGENT = TinyJob(2, worth=10, decay=1.0, due=1.0)  # in one slot; then it loses 10 * 0.731 * 0.269 = 1.97 a slot
PATIENT = TinyJob(2, worth=1)  # worth a half at any time


def test_a_job_that_costs_others_more_than_it_is_worth_is_rejected():
    result = play(Rrh(), [URGENT, PATIENT])  # (0.5 - 1.97) / 0: no slack
    assert result.rejected.tolist() == [-1, 0]
    row = result.decision_log[0]
    assert (row.job, row.reason) == (1, Reason.TOO_LITTLE_SLACK)
    assert row.utility == 0.5
    assert row.cost == pytest.approx(10 * 0.731 * 0.269, rel=1e-3)


def test_in_the_other_order_both_are_admitted_and_the_urgent_one_goes_first():
    result = play(Rrh(), [PATIENT, URGENT])
    assert result.rejected.tolist() == [-1, -1]
    assert result.finish.tolist() == [1, 0]
    assert {row.reason for row in result.decision_log} == {Reason.BEST_RISK_REWARD}


def test_slack_is_compared_with_the_threshold():
    """Alone: (7.31 / 1.01) / 1.97 = 3.68 slots."""
    assert play(Rrh(Rrh.Params(threshold=3.6)), [URGENT]).rejected.tolist() == [-1]
    assert play(Rrh(Rrh.Params(threshold=3.7)), [URGENT]).rejected.tolist() == [0]


def test_who_has_started_goes_on_unless_better_jobs_may_take_over():
    jobs = [TinyJob(8, worth=10), TinyJob(2, arrival=1, worth=100)]
    assert play(Rrh(), jobs).finish.tolist() == [3, 4]
    assert play(Rrh(Rrh.Params(preempt=True)), jobs).finish.tolist() == [4, 1]


def test_decay_is_the_slope_of_the_utility():
    parameters = np.array([[50.0, 0.7, 4.0], [3.0, 0.0, 2.0], [0.0, 1.0, 2.0]])
    delay = np.array([3.0, 5.0, 1.0])
    step = 1e-5
    expected = (utility(parameters, delay - step) - utility(parameters, delay + step)) / (2 * step)
    assert slope(parameters, delay) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "text"), [({"alpha": 1.5}, "weight"), ({"rate": -1.0}, "0 or more"), ({"workers": 0}, "1 or more")]
)
def test_parameters_have_ranges(wrong: dict[str, float], text: str):
    with pytest.raises(ValueError, match=text):
        Rrh.Params(**wrong)
