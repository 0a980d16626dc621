"""The slot sub-routine against trying every way to put workers and parameter servers on hosts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.schedulers.kernels.elastic_costs import place, slot_costs

RESOURCES = 3  # any number will do; the last one is bandwidth


def cheapest(price, free, demand, amount):
    """Least cost of so many on these hosts, inf if they do not fit: every division over the hosts is tried."""
    best = math.inf
    for counts in itertools.product(range(amount + 1), repeat=len(price)):
        if sum(counts) != amount:
            continue
        taken = np.outer(counts, demand)
        if (taken <= free + 1e-6).all():
            best = min(best, float((taken * price).sum()))
    return best


def servers_for(workers, worker_b, server_b):
    return math.ceil(workers * worker_b / server_b - 1e-9)


@st.composite
def slots(draw, most_hosts=3, most_workers=4):
    """Prices, what is free, demands, and how many workers at most: of one slot."""
    price = st.integers(0, 8).map(lambda value: value / 4)
    roles = []
    for _ in range(2):
        hosts = draw(st.integers(1, most_hosts))
        rows = st.lists(price, min_size=RESOURCES, max_size=RESOURCES)
        prices = np.array(draw(st.lists(rows, min_size=hosts, max_size=hosts)))
        amounts = st.lists(st.integers(0, 6), min_size=RESOURCES, max_size=RESOURCES)
        free = np.array(draw(st.lists(amounts, min_size=hosts, max_size=hosts)), dtype=np.float64)
        demand = np.array([*draw(st.lists(st.integers(0, 3), min_size=RESOURCES - 1, max_size=RESOURCES - 1)), 0.0])
        least = (
            roles[0][2][-1] if roles else 0.5
        )  # a server has the bandwidth of a worker, or there would be more of them
        demand[-1] = draw(st.sampled_from([one for one in (0.5, 1.0, 1.5, 2.0) if one >= least]))
        roles.append((prices, free, demand))
    return *roles, draw(st.integers(1, most_workers))


def costs_and_room(worker, server, most):
    prices, free, demands = ([role[part] for role in (worker, server)] for part in range(3))
    costs, room = np.empty((1, most + 1)), np.zeros(1, np.int64)
    slot_costs(*(one[None] for one in prices), *(one[None] for one in free), *demands, most, 0, 1, costs, room)
    return costs[0], int(room[0])


CHEAP_LAST = (
    (np.array([[0.0, 2.0, 0.0], [0.0, 1.0, 0.0]]), np.full((2, 3), 6.0), np.array([0.0, 3.0, 1.0])),
    (np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 1.0]]), np.full((2, 3), 6.0), np.array([0.0, 0.0, 2.0])),
    3,
)


@settings(deadline=None, max_examples=300)
@given(slots())
@example(CHEAP_LAST)
def test_costs_and_room_are_those_of_the_cheapest_places(slot):
    worker, server, most = slot
    costs, room = costs_and_room(worker, server, most)
    for workers in range(most + 1):
        serving = servers_for(workers, worker[2][-1], server[2][-1])
        least = cheapest(*worker, workers) + cheapest(*server, serving)
        if workers <= room:
            assert costs[workers] == pytest.approx(least)
        else:
            assert math.isinf(least)


@settings(deadline=None, max_examples=300)
@given(slots())
@example(CHEAP_LAST)
def test_everybody_is_put_where_the_costs_say(slot):
    """The rows hold as many as asked for, fit, and cost what `slot_costs` said; what does not fit is refused."""
    worker, server, most = slot
    costs, room = costs_and_room(worker, server, most)
    prices, free, demands = ([role[part] for role in (worker, server)] for part in range(3))
    for workers in range(1, most + 1):
        rows = np.empty((4, 2 * most), dtype=np.int64)
        taken = np.array([0, workers])  # of two slots that are alike, the first is left empty
        used = place(
            *(np.repeat(one[None], 2, axis=0) for one in prices),
            *(np.repeat(one[None], 2, axis=0) for one in free),
            *demands,
            taken,
            7,
            rows,
        )
        if workers > room:
            assert used == -1
            continue
        total = 0.0
        for role, wanted in enumerate((workers, servers_for(workers, demands[0][-1], demands[1][-1]))):
            of_role = rows[:, :used][:, rows[1, :used] == role]
            assert (of_role[0] == 8).all()
            assert (of_role[3] > 0).all()
            assert of_role[3].sum() == wanted
            counts = np.bincount(of_role[2], of_role[3], minlength=len(free[role]))
            load = np.outer(counts, demands[role])
            assert (load <= free[role] + 1e-6).all()
            total += float((load * prices[role]).sum())
        assert total == pytest.approx(costs[workers])
