import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.seeds import SeedTree
from dovetail.workloads.readers.stream_rates import read_rates_file
from dovetail.workloads.stream_describe import rate_summary
from dovetail.workloads.stream_rates import RATES, rate_shape

WEEK = 10_080  # minutes


def draw(name, seed=0, bins=WEEK, **overrides):
    return rate_shape(name, overrides).draw(bins, SeedTree(seed).generator())


@pytest.mark.parametrize("name", RATES)
def test_rates_are_rates_and_come_from_the_seed_alone(name):
    one = draw(name, 3)
    assert one.shape == (WEEK,) and np.isfinite(one).all() and (one > 0).all()
    np.testing.assert_array_equal(one, draw(name, 3))
    assert not np.array_equal(one, draw(name, 4))
    assert draw(name, bins=1).shape == (1,)


def test_web_looks_like_a_web_server():
    weeks = [draw("web", seed) for seed in range(8)]
    found = [rate_summary(week, 60.0) for week in weeks]
    mean = {name: np.mean([each[name] for each in found]) for name in ("cv_within_hour", "hour_change", "mean")}
    assert mean["cv_within_hour"] == pytest.approx(0.26, abs=0.02)
    assert mean["hour_change"] == pytest.approx(0.12, abs=0.015)
    assert np.mean([each["hour_change_p95"] for each in found]) == pytest.approx(0.29, abs=0.04)
    day = np.mean(weeks, axis=0).reshape(7, 24, 60).mean(axis=2)
    weekday = day[1:5].mean(axis=0)
    assert weekday.min() / weekday.max() == pytest.approx(1 / 3, abs=0.06)
    assert 12 <= weekday.argmax() <= 17 and 3 <= weekday.argmin() <= 6
    assert day[5:].mean() / day[1:5].mean() == pytest.approx(0.7, abs=0.04)
    hours = np.array(weeks).reshape(-1, 60)
    within = (hours / hours.mean(axis=1, keepdims=True)).ravel()
    assert np.corrcoef(within[:-1], within[1:])[0, 1] == pytest.approx(0.34, abs=0.03)


@needs_data("rates")
def test_web_has_the_figures_of_the_public_log():
    series = read_rates_file(DATA / "rates" / "clarknet_per_min.csv").source.recorded
    log = rate_summary(series.rate[0], 60.0)
    ours = [rate_summary(draw("web", seed), 60.0) for seed in range(8)]
    for name, off in (("cv_within_hour", 0.1), ("hour_change", 0.1), ("hour_change_p95", 0.15)):
        assert np.mean([each[name] for each in ours]) == pytest.approx(log[name], rel=off)
    peaks = [each["peak_hour"] / each["mean"] for each in ours]
    assert np.mean(peaks) == pytest.approx(log["peak_hour"] / log["mean"], rel=0.15)


def test_diurnal_has_nights_and_weekends():
    rate = draw("diurnal", noise=0.0, night=0.2, peak_h=15.0, weekend=0.5).reshape(7, 24, 60).mean(axis=2)
    assert rate[2].min() / rate[2].max() == pytest.approx(0.2, abs=0.01)
    assert rate[2].argmax() in (14, 15) and rate[2].argmin() in (2, 3)
    assert rate[6].max() / rate[2].max() == pytest.approx(0.5, abs=0.01)


def test_bursts_have_their_share_of_the_time():
    rate = draw("bursty", noise=0.0, bins=20 * WEEK)
    assert set(np.unique(rate)) == {1.0, 4.0}
    assert (rate > 1).mean() == pytest.approx(900 / 6300, rel=0.15)


def test_crowds_come_fast_and_leave_slowly():
    calm = draw("flash-crowd", noise=0.0, per_week=0.0)
    rate = draw("flash-crowd", 2, noise=0.0, per_week=1.0, height=10.0)
    added = (rate - calm / calm.mean())[6500:]  # one of three crowds, apart from the others
    top = int(added.argmax())
    assert added[top] > 1
    assert added[top - 6] == 0 and 0.3 < added[top - 3] / added[top] < 0.7
    assert added[top + 60] / added[top] == pytest.approx(np.exp(-1), rel=0.03)


def test_steps_stay_within_their_range():
    rate = draw("step", noise=0.0, low=0.5, high=2.0, every_s=3600.0)
    assert rate.min() >= 0.5 and rate.max() <= 2.0
    assert 80 < np.unique(rate).size < 300


def test_drift_grows():
    rate = draw("drift", noise=0.0, wander=0.0, growth=3.0, bins=2 * WEEK)
    np.testing.assert_allclose(rate[WEEK:] / rate[:WEEK], 3.0)
