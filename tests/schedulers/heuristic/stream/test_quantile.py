"""stream/quantile on numbers."""

import numpy as np
import pytest
from tests.schedulers.stream_views import decided, info_of, view_of

from dovetail.core.stream import DAY_S
from dovetail.schedulers.heuristic.stream.quantile import Quantile

ONE = info_of("op", interval_s=3600.0)
PLAIN = Quantile.Params(quantile=1.0, utilisation=1.0, hold=0.0)


def rates_view(rates: list[float], parallelism: int, time_s: float = 3600.0):
    """One operator that does 10 records a second and instance, and keeps up."""
    column = np.array(rates)[:, None]
    view = view_of(
        ONE,
        [parallelism],
        rows=len(rates),
        op_input_rate=column,
        op_rate=column,
        op_busy=column / 10.0 / parallelism,
        job_rate=column,
    )
    return view._replace(time_s=time_s)


def test_enough_for_the_highest_minute_of_the_last_hour():
    """Mean 22, highest 40: 2.2 * 40 / 22 instances."""
    assert decided(Quantile(PLAIN), ONE, rates_view([20.0] * 54 + [40.0] * 6, 3)) == {0: 4}


def test_enough_for_a_share_of_the_time_and_for_the_mean_at_least():
    """20 is what does for 0.85 of the time, 22 the mean."""
    for_most = Quantile(Quantile.Params(quantile=0.85, utilisation=1.0, hold=0.0))
    assert decided(for_most, ONE, rates_view([20.0] * 54 + [40.0] * 6, 4)) == {0: 3}


def test_a_rise_a_day_ago_is_expected_again():
    scheduler = Quantile(PLAIN)
    scheduler.reset(ONE, np.random.default_rng(0))
    hours = [20.0] * 12 + [30.0] + [20.0] * 23  # in the thirteenth, half as much again
    asked = []
    for hour, rate in enumerate(hours):
        found = scheduler.decide(rates_view([rate] * 60, 2, 3600.0 * (hour + 1)))
        asked.append(found[0].parallelism if found else 2)
    assert asked[12] == 3  # when it has come
    assert asked[35] == 3 and asked[24:35] == [2] * 11  # a day later, before it comes


def test_within_the_band_a_job_is_left_alone():
    held = Quantile(Quantile.Params(quantile=1.0, utilisation=1.0, hold=0.3))
    assert decided(held, ONE, rates_view([42.0] * 60, 4)) == {}  # wants 5; 4 do for 0.7 of it
    assert decided(held, ONE, rates_view([42.0] * 60, 6)) == {}
    assert decided(held, ONE, rates_view([42.0] * 60, 2)) == {0: 5}
    assert decided(held, ONE, rates_view([42.0] * 60, 7)) == {0: 5}


def test_nothing_measured_nothing_changed():
    assert decided(Quantile(), ONE, rates_view([0.0] * 60, 4)) == {}


@pytest.mark.parametrize("wrong", [{"quantile": 0.0}, {"utilisation": 1.5}, {"hold": 1.0}, {"ahead_s": 2 * DAY_S}])
def test_parameters_have_ranges(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        Quantile.Params(**wrong)
