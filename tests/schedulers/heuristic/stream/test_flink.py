"""stream/flink on numbers."""

import numpy as np
import pytest
from tests.schedulers.stream_views import decided, decisions_of, info_of, view_of

from dovetail.core.stream import Reason
from dovetail.schedulers.heuristic.stream.flink import Flink

PAIR = info_of("source", "sink", job_restart_s=np.array([18.0]))  # a hundredth of the time to catch up


def pair_view(parallelism: list[int], rate: float, **changes):
    """The source does 100 a second and instance, the sink 10; both keep up."""
    busy = [rate / 100 / parallelism[0], rate / 10 / parallelism[1]]
    measured = {"op_input_rate": rate, "op_rate": rate, "op_busy": busy}
    return view_of(PAIR, parallelism, **(measured | changes))


def test_outside_of_the_band_all_are_set_to_the_target_utilisation_with_the_restart():
    """The sink is busy 0.35 < 0.7 - 0.3: 35 / 10 / 0.7 + 35 / 10 * 0.01 = 5.035."""
    found = decisions_of(Flink(), PAIR, pair_view([1, 10], 35.0))
    assert [(one.operator, one.parallelism, one.reason) for one in found] == [(1, 6, Reason.TRUE_RATE)]
    assert found[0].demand == pytest.approx(3.5)


def test_within_the_band_nothing_changes():
    assert decided(Flink(), PAIR, pair_view([1, 8], 35.0)) == {}
    assert decided(Flink(), PAIR, pair_view([1, 4], 39.0)) == {}


def test_a_backlog_is_worked_off_within_the_time_to_catch_up():
    """3600 wait: 2 more a second, so the sink needs 39 / 10 + 0.2 > 4; and gets 39 / 10 / 0.7 + 0.2 + 0.039 = 5.81."""
    view = pair_view([1, 4], 39.0, op_queued=[3600.0, 0.0])
    assert decided(Flink(), PAIR, view) == {1: 6}
    more = pair_view([1, 4], 39.0, op_queued=[9000.0, 0.0])  # 39 / 10 / 0.7 + 0.5 + 0.039 = 6.11
    assert decided(Flink(), PAIR, more) == {1: 7}
    much = decisions_of(Flink(), PAIR, pair_view([1, 4], 39.0, op_queued=[18_000.0, 0.0]))
    assert [(one.parallelism, one.reason) for one in much] == [(7, Reason.CATCH_UP)]


def test_nobody_gets_fewer_while_there_is_a_backlog():
    assert decided(Flink(), PAIR, pair_view([1, 10], 10.0)) == {1: 4}
    assert decided(Flink(), PAIR, pair_view([1, 10], 10.0, op_queued=[2999.0, 0.0])) == {1: 4}
    assert decided(Flink(), PAIR, pair_view([1, 10], 10.0, op_queued=[3001.0, 0.0])) == {}


def test_at_most_so_many_are_taken_away_at_once():
    """2 / 10 / 0.7 asks for one; 0.4 * 10 stay."""
    assert decided(Flink(), PAIR, pair_view([1, 10], 2.0)) == {1: 4}
    assert decided(Flink(Flink.Params(most_down=1.0)), PAIR, pair_view([1, 10], 2.0)) == {1: 1}


def test_after_a_scale_up_there_is_no_scale_down_for_a_while():
    grew = np.array([[1, 6]] * 2 + [[1, 10]] * 3)
    view = pair_view([1, 10], 20.0, op_parallelism=grew)
    assert decided(Flink(), PAIR, view) == {}
    assert decided(Flink(Flink.Params(grace_s=120.0)), PAIR, view) == {1: 4}
    fell = pair_view([1, 10], 20.0, op_parallelism=grew[::-1].copy())
    assert decided(Flink(), PAIR, fell) != {}


def test_a_job_that_stands_still_is_left_alone():
    assert decided(Flink(), PAIR, pair_view([1, 10], 10.0, job_down=[True])) == {}


@pytest.mark.parametrize("wrong", [{"utilisation": 0.0}, {"boundary": 1.0}, {"most_down": 2.0}, {"catch_up_s": 0.0}])
def test_parameters_have_ranges(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        Flink.Params(**wrong)
