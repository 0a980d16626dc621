"""The compiled sub-routine against the published dynamic program and against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.schedulers.kernels.elastic_plan import best_schedule


def dynamic_program(costs, room, work):
    """(S,) least cost of doing the work by the end of each slot, as published: over (slot, work done)."""
    slots = len(costs)
    best = np.full(work + 1, np.inf)
    best[0] = 0.0
    by_slot = []
    for s in range(slots):
        after = np.full(work + 1, np.inf)
        for w in range(work + 1):
            for d in range(min(room[s], w) + 1):
                after[w] = min(after[w], best[w - d] + costs[s][d])
        best = after
        by_slot.append(best[work])
    return by_slot


def enumerated(costs, room, work):
    """The same by trying everything."""
    by_slot = []
    for e in range(len(costs)):
        ways = itertools.product(*(range(room[s] + 1) for s in range(e + 1)))
        totals = [sum(costs[s][d] for s, d in enumerate(way)) for way in ways if sum(way) == work]
        by_slot.append(min(totals, default=np.inf))
    return by_slot


@st.composite
def problems(draw, most_slots=5, most_workers=4):
    """Costs as they come about: convex for the workers, and a jump for every parameter server."""
    slots = draw(st.integers(1, most_slots))
    width = draw(st.integers(1, most_workers))
    prices = st.integers(0, 6).map(lambda tenths: tenths / 2)
    per_server = draw(st.sampled_from([1.0, 1.5, 2.0, 3.3, 10.0]))
    costs, room = np.zeros((slots, width + 1)), np.zeros(slots, dtype=np.int64)
    for s in range(slots):
        workers = sorted(draw(st.lists(prices, min_size=width, max_size=width)))
        servers = sorted(draw(st.lists(prices, min_size=width, max_size=width)))
        for d in range(1, width + 1):
            needed = int(np.ceil(d / per_server - 1e-9))
            costs[s, d] = sum(workers[:d]) + sum(servers[:needed])
        room[s] = draw(st.integers(0, width))
    work = draw(st.integers(1, slots * width))
    falling = sorted(draw(st.lists(st.integers(0, 60), min_size=slots, max_size=slots)), reverse=True)
    if draw(st.booleans()):  # waiting costs nothing, so that many slots of completion are as good
        falling = falling[:1] * slots
    return costs, room, work, np.array(falling, dtype=np.float64)


@settings(deadline=None, max_examples=400)
@given(problems())
def test_equals_enumeration(problem):
    costs, room, work, utility = problem
    least = enumerated(costs, room, work)
    assert dynamic_program(costs, room, work) == pytest.approx(least)
    check(costs, room, work, utility, least, tolerance=0.0)


@settings(deadline=None, max_examples=150)
@given(problems(most_slots=12, most_workers=9), st.sampled_from([0.0, 0.01, 0.2]))
def test_equals_the_dynamic_program(problem, tolerance):
    costs, room, work, utility = problem
    check(costs, room, work, utility, dynamic_program(costs, room, work), tolerance)


def check(costs, room, work, utility, least, tolerance):
    taken = np.zeros(len(room), dtype=np.int64)
    chosen, cost = best_schedule(costs, room, work, utility, tolerance, taken)
    payoffs = [utility[e] - least[e] for e in range(len(room))]
    best = max(payoffs)
    if chosen == -1 - len(room):  # none completes the work while it is worth anything
        assert all(np.isinf(cost) or worth == 0 for cost, worth in zip(least, utility, strict=True))
        return
    if chosen < 0:
        closest = -1 - chosen
        assert best <= tolerance * utility[0] + 1e-9
        assert cost <= least[closest] + 1e-9
        assert utility[closest] - cost >= best - 1e-9
        return
    assert taken.sum() == work
    assert (taken <= room).all()
    assert not taken[chosen + 1 :].any()
    assert cost == pytest.approx(sum(costs[s, taken[s]] for s in range(len(room))))
    assert utility[chosen] - cost > 0
    assert utility[chosen] - cost >= best - tolerance * utility[0] - 1e-9


def test_a_server_that_is_half_used_is_worth_filling():
    """Three workers: two share a server in slot 0, and the third is cheaper in slot 1 than a second server."""
    costs = np.array([[0.0, 6.0, 7.0, 13.0], [0.0, 5.0, 6.0, 12.0]])
    taken = np.zeros(2, dtype=np.int64)
    chosen, cost = best_schedule(costs, np.array([3, 3]), 3, np.array([100.0, 99.0]), 0.0, taken)
    assert (chosen, cost) == (1, 11.0 + 1.0)
    assert taken.tolist() == [2, 1] or taken.tolist() == [1, 2]


def test_finishing_earlier_is_bought_when_it_is_worth_it():
    costs = np.array([[0.0, 1.0, 5.0], [0.0, 1.0, 5.0]])
    for late, expected in ((90.0, 0), (99.0, 1)):
        taken = np.zeros(2, dtype=np.int64)
        chosen, _ = best_schedule(costs, np.array([2, 2]), 2, np.array([100.0, late]), 0.0, taken)
        assert chosen == expected
