"""What is remembered of a day of rates."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dovetail.core.stream import DAY_S
from dovetail.features.stream_memory import DAYS, MOST_GROWTH, RateMemory, quantile_of

HOUR = 4  # snapshots of a quarter of an hour
INFO = SimpleNamespace(snapshot_s=DAY_S / 24 / HOUR, job_name=("one", "other"))


def view(hour: int, *rates: float, rows: int = HOUR):
    """At the end of an hour, in which these rates came to the first job; twice as much to the other."""
    column = np.resize(np.array(rates, float), rows)
    return SimpleNamespace(time_s=(hour + 1) * DAY_S / 24, job_rate=np.stack([column, 2.0 * column], axis=1))


def shown(hours: int, rate_of=lambda hour: 1.0 + hour % 24) -> RateMemory:
    memory = RateMemory(INFO)
    for hour in range(hours):
        memory.add(view(hour, rate_of(hour)))
    return memory


def test_growth_is_that_of_a_day_ago():
    memory = shown(24)
    assert not memory.knows_growth(HOUR) and memory.growth(HOUR).tolist() == [1.0, 1.0]
    memory.add(view(24, 1.0))
    assert memory.knows_growth(HOUR)
    np.testing.assert_allclose(memory.growth(HOUR), [2.0, 2.0])  # hour 1 after hour 0
    memory = shown(30)
    np.testing.assert_allclose(memory.growth(HOUR), 7.0 / 6.0)
    steep = shown(25, lambda hour: 10.0**hour)
    np.testing.assert_allclose(steep.growth(HOUR), MOST_GROWTH)
    assert np.allclose(shown(25, lambda hour: float(hour > 0)).growth(HOUR), 1.0)  # nothing came: nothing is known


def test_bursts_are_within_hours():
    assert np.allclose(shown(24).burst(HOUR, 0.99), 1.0)  # hours differ, minutes do not
    memory = shown(3)
    memory.add(view(3, 1.0, 1.0, 1.0, 5.0))
    assert np.allclose(memory.burst(HOUR, 1.0), 2.5)
    assert np.allclose(memory.burst(HOUR, 0.5), 1.0)
    for hour in range(4, 28):
        memory.add(view(hour, 1.0))
    assert np.allclose(memory.burst(HOUR, 1.0), 1.0), "longer ago than a day"


def test_less_than_asked_for_is_remembered():
    memory = RateMemory(INFO)
    memory.add(view(0, 1.0, 3.0, rows=2))
    assert np.allclose(memory.burst(HOUR, 1.0), 1.5)


def test_views_may_overlap_repeat_or_leave_gaps():
    memory, again = shown(26), RateMemory(INFO)
    for hour in range(26):
        rates = [1.0 + max(hour - 1, 0) % 24] * HOUR + [1.0 + hour % 24] * HOUR
        again.add(view(hour, *(rates if hour else rates[HOUR:]), rows=2 * HOUR if hour else HOUR))
        again.add(view(hour, 99.0))  # the same time: nothing new
    np.testing.assert_allclose(again.growth(HOUR), memory.growth(HOUR))
    sparse = RateMemory(INFO)
    for hour in range(26):
        sparse.add(view(hour, 1.0 + hour % 24, rows=1))  # a quarter of each hour is shown
    np.testing.assert_allclose(sparse.growth(HOUR), memory.growth(HOUR), rtol=0.2)


def test_memory_is_bounded():
    memory = shown(24 * 5)
    assert len(memory._rates) == pytest.approx(DAYS * 24 * HOUR)


@pytest.mark.parametrize("rows", [1, 2, 5, 1440])
def test_quantiles_are_numpys(rows):
    values = np.random.default_rng(rows).lognormal(size=(rows, 3))
    for quantile in (0.01, 0.5, 0.8, 0.99, 1.0):
        np.testing.assert_allclose(quantile_of(values, quantile), np.quantile(values, quantile, axis=0), rtol=1e-12)
