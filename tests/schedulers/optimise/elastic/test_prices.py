"""Prices: bounds by hand, and the market that clears."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.elastic import ElasticInfo, ElasticJobs
from dovetail.schedulers.optimise.elastic.prices import Bounds, clearing, estimate, highest


def jobs(work, worth, demand):
    count = len(work)
    return ElasticJobs(
        arrival=np.zeros(count, dtype=np.int64),
        work=np.array(work),
        max_workers=np.array(work),
        worker_demand=np.repeat(np.array([[0.0, demand, 0.0, 0.0, 1.0]]), count, axis=0),
        server_demand=np.repeat(np.array([[0.0, 1.0, 0.0, 0.0, 2.0]]), count, axis=0),
        utility=np.c_[2.0 * np.array(worth), np.zeros(count), np.zeros(count)],  # half of it, whenever
    )


def test_prices_grow_from_low_to_high():
    bounds = Bounds(0.5, np.array([8.0, 2.0]))
    capacity = np.array([[4.0, 0.0]])
    assert bounds.prices(np.array([[[4.0, 0.0]]]), capacity).tolist() == [[[0.5, 0.0]]]
    assert bounds.prices(np.array([[[0.0, 0.0]]]), capacity)[0, 0, 0] == pytest.approx(8.0)
    assert bounds.prices(np.array([[[2.0, 0.0]]]), capacity)[0, 0, 0] == pytest.approx(2.0)
    assert bounds.alpha == pytest.approx(np.log(16.0))


def test_the_highest_price_is_the_best_utility_per_unit():
    known = jobs([1, 1], [6.0, 10.0], demand=2.0)
    assert highest(known, known.worker_demand)[[1, 4]].tolist() == [5.0, 10.0]


def test_the_market_clears():
    """Four jobs, each needs half of a resource: those worth 90 and 70 fit, the price is what the next would pay."""
    worth, load = np.array([70.0, 3.0, 90.0, 5.0]), np.full((4, 1), 5.0)
    assert clearing(worth, load, np.array([10.0]), 1.0) == 5.0
    assert clearing(worth, load, np.array([10.0]), 1.5) == 3.0
    assert clearing(worth, load, np.array([10.0]), 2.0) == 0.0
    assert clearing(worth, load, np.array([10.0]), 0.0) == 45.0


def test_estimates_come_from_the_history_and_how_many_jobs_there_will_be():
    known = jobs([10, 10, 10, 10], [400.0, 300.0, 20.0, 10.0], demand=1.0)
    capacity = np.array([[0.0, 2.0, 0.0, 0.0, 100.0]])

    def low(expected: float, fill: float = 1.0, error: float = 1.0) -> float:
        info = ElasticInfo(10, 60.0, capacity, np.full((1, 5), 1e6), known, expected)
        return estimate(info, fill=fill, error=error)[0].low

    assert low(4) == pytest.approx(20.0 / 20.0)  # two jobs fill 2 processors x 10 slots; the third could pay 1 a unit
    assert low(8) == pytest.approx(400.0 / 20.0 / 2)  # half of what the only one that fits would pay
    assert low(8, fill=2.0) == pytest.approx(20.0 / 20.0)
    assert low(2) < 0.1
    assert low(8, error=3.0) == pytest.approx(10.0 / 3.0)


def test_a_handful_is_no_market():
    """Two of four fill the share: with three asked for, there is no floor."""
    worth, load = np.array([70.0, 3.0, 90.0, 5.0]), np.full((4, 1), 5.0)
    assert clearing(worth, load, np.array([10.0]), 1.0, few=2) == 5.0
    assert clearing(worth, load, np.array([10.0]), 1.0, few=3) == 0.0
    known = jobs([10] * 8, [400.0] * 8, demand=1.0)
    capacity = np.array([[0.0, 2.0, 0.0, 0.0, 100.0]])
    low = {}
    for expected in (4.0, 40.0):  # two of them fill the horizon: of 8 known ones, those are 4 and 0.4
        info = ElasticInfo(10, 60.0, capacity, np.full((1, 5), 1e6), known, expected)
        low[expected] = [estimate(info, fill=1.0, error=1.0, few=few)[0].low for few in (0, 2, 3)]
    assert low[4.0][0] == low[4.0][1] > 100 * low[4.0][2]
    assert low[40.0][0] > 100 * low[40.0][1]


def test_jobs_that_are_alike_leave_something_to_gain():
    """The marginal job is worth as much as all others: its price would turn everybody away."""
    assert clearing(np.full(4, 6.0), np.full((4, 1), 5.0), np.array([10.0]), 1.0) == 3.0
    assert clearing(np.array([6.0]), np.array([[20.0]]), np.array([10.0]), 0.5) == 3.0
