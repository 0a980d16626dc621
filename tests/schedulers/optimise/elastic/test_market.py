"""Where prices start and end: bounds by hand, the market that clears, and what jobs that come change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.schedulers.optimise.elastic.small_worlds import small_world

from dovetail.core.elastic import ElasticInfo, ElasticJobs
from dovetail.schedulers.optimise.elastic.market import Market, clearing, estimate, highest

ONE_EACH = np.ones(4)


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


def test_the_highest_price_is_the_best_utility_per_unit():
    known = jobs([1, 1], [6.0, 10.0], demand=2.0)
    assert highest(known, known.worker_demand)[[1, 4]].tolist() == [5.0, 10.0]


def test_the_market_clears():
    """Four jobs, each needs half of a resource: those worth 90 and 70 fit, the price is what the next would pay."""
    worth, load = np.array([70.0, 3.0, 90.0, 5.0]), np.full((4, 1), 5.0)
    assert clearing(worth, ONE_EACH, load, np.array([10.0]), 1.0) == 5.0
    assert clearing(worth, ONE_EACH, load, np.array([10.0]), 1.5) == 3.0
    assert clearing(worth, ONE_EACH, load, np.array([10.0]), 2.0) == 0.0
    assert clearing(worth, ONE_EACH, load, np.array([10.0]), 0.0) == 45.0


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
    assert clearing(worth, ONE_EACH, load, np.array([10.0]), 1.0, few=2) == 5.0
    assert clearing(worth, ONE_EACH, load, np.array([10.0]), 1.0, few=3) == 0.0
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
    assert clearing(np.full(4, 6.0), ONE_EACH, np.full((4, 1), 5.0), np.array([10.0]), 1.0) == 3.0
    assert clearing(np.array([6.0]), np.ones(1), np.array([[20.0]]), np.array([10.0]), 0.5) == 3.0


def known_info(known: ElasticJobs, expected: float) -> ElasticInfo:
    """Two processors for 10 slots; parameter servers are no matter."""
    capacity = np.array([[0.0, 2.0, 0.0, 0.0, 100.0]])
    return ElasticInfo(10, 60.0, capacity, np.full((1, 5), 1e6), known, expected)


def test_jobs_seen_count_one_each_and_the_past_as_much_as_it_is_trusted():
    """Eight jobs of the past are worth a third of the two that came: U is the geometric mean, by weight."""
    past, seen = jobs([10] * 8, [100.0] * 8, demand=1.0), jobs([10] * 2, [300.0] * 2, demand=1.0)
    info = known_info(past, 4.0)
    high = {
        trust: estimate(info, fill=math.inf, error=0.1, seen=seen, trust=trust)[0].high[1]
        for trust in (0.0, 2.0, math.inf)
    }
    assert high[math.inf] == pytest.approx(10.0)
    assert high[0.0] == pytest.approx(300.0)
    assert high[2.0] == pytest.approx(300.0)  # the mean is 55; but somebody would pay this
    dear = estimate(info, fill=math.inf, error=30.0, seen=seen, trust=2.0)[0].high[1]
    assert dear == pytest.approx(math.sqrt(3000.0 * 300.0))


def test_the_floor_is_found_among_both():
    """Four are to come, two fit: half of them like the two seen, so these fill it, and the next would pay 5 a unit."""
    past, seen = jobs([10] * 8, [100.0] * 8, demand=1.0), jobs([10] * 2, [300.0] * 2, demand=1.0)
    info = known_info(past, 4.0)

    def low(trust: float, error: float = 1.0) -> float:
        return estimate(info, fill=1.0, error=error, seen=seen, trust=trust)[0].low

    assert low(math.inf) == pytest.approx(5.0 / 2)  # all alike: half of what they would pay
    assert low(2.0) == pytest.approx(5.0)
    assert low(0.0) == pytest.approx(15.0 / 2)
    assert low(math.inf, error=0.1) == pytest.approx(50.0 / 2)


def test_a_resource_nobody_seen_needs_keeps_its_price():
    past, seen = jobs([10] * 2, [100.0] * 2, demand=1.0), jobs([10], [100.0], demand=0.0)
    high = estimate(known_info(past, 4.0), fill=math.inf, error=1.0, seen=seen, trust=1.0)[0].high
    assert high[1] == pytest.approx(100.0)


@pytest.mark.parametrize("error", [0.05, 20.0])
def test_wrong_estimates_wash_out(error):
    """Hundreds of jobs later it does not matter what was believed at first, unless nothing is to be learned."""

    def distance(trust: float) -> list[float]:
        world = small_world(1, jobs=300, slots=100)
        wrong, right = (Market(world.info, fill=0.5, error=e, trust=trust) for e in (error, 1.0))
        found = []
        while (view := world.advance()) is not None:
            for market in (wrong, right):
                market.see(view)
            world.apply([])
            found.append(abs(math.log(wrong.bounds[0].low / right.bounds[0].low)))
        return found

    learning, fixed = distance(5.0), distance(math.inf)
    assert learning[-1] < 0.2
    assert fixed[0] == fixed[-1] == pytest.approx(abs(math.log(error)))


def test_looking_twice_changes_nothing():
    world = small_world(2)
    market = Market(world.info, fill=0.5, error=3.0, trust=5.0)
    view = world.advance()
    while not len(view.job_id):
        view = world.advance()
    before = market.bounds
    market.see(view)
    once = market.bounds
    market.see(view)
    assert market.bounds is once is not before
