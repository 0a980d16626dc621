"""OASiS' prices as a dual solution: no schedule is worth more than they say, and they say something.

For any prices, what the jobs could gain at most at these prices, each alone on an empty cluster, plus the price of all
capacity, is no less than the offline optimum (Lagrangian duality); so it holds for those that a run ends with, and for
these times any factor.  As they are, they say little: a full host costs U, at which one worker costs what the best job
is worth, in every slot and for every resource.  With a factor they often say more than that nobody gets more than he
would alone.  The largest gain at given prices is the sub-routine's: one that missed schedules would promise too little.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.optimise.elastic.small_worlds import small_world

from dovetail.core.elastic import utility
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.kernels.elastic_costs import slot_costs
from dovetail.schedulers.kernels.elastic_plan import best_schedule
from dovetail.schedulers.optimise.elastic.oasis import Oasis, OasisParams
from dovetail.schedulers.optimise.elastic.offline import solve
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.testing.elastic_tiny import random_tiny

FACTORS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def play(world, **params):
    scheduler = Oasis(OasisParams(**params, tolerance=0.0))
    return run(world, scheduler, np.random.default_rng(0)), scheduler


def final_prices(result, bounds):
    """(slots, hosts, R) of both roles, from what stood where."""
    jobs = result.workload.jobs()
    found = []
    for role, (bound, demand, capacity) in enumerate(
        zip(
            bounds,
            (jobs.worker_demand, jobs.server_demand),
            (result.worker_capacity, result.server_capacity),
            strict=True,
        )
    ):
        free = np.repeat(capacity[None], result.workload.slots, axis=0)
        for slot, job, _, host, amount in result.used[result.used[:, 2] == role].tolist():
            free[slot, host] -= amount * demand[job]
        found.append(bound.prices(free, capacity))
    return found


def value_of_capacity(result, prices):
    capacities = (result.worker_capacity, result.server_capacity)
    return sum(float((price * capacity).sum()) for price, capacity in zip(prices, capacities, strict=True))


def run_dual(result, prices):
    """What the jobs gained in the run, and all capacity at these prices."""
    gained = sum(row.utility - row.cost for row in result.decision_log if not row.rejected)
    return gained + value_of_capacity(result, prices)


def largest_gain(result, prices, job):
    """Of any schedule of a job, alone on an empty cluster at these prices; 0 if none pays."""
    jobs, slots = result.workload.jobs(), result.workload.slots
    first = int(jobs.arrival[job])
    left = slots - first
    worth = utility(jobs.utility[job], np.arange(left, dtype=np.float64))
    work, most = int(jobs.work[job]), int(min(jobs.max_workers[job], jobs.work[job]))
    free = [np.repeat(one[None], left, axis=0) for one in (result.worker_capacity, result.server_capacity)]
    costs, room, taken = np.empty((left, most + 1)), np.zeros(left, np.int64), np.zeros(left, np.int64)
    demands = (jobs.worker_demand[job], jobs.server_demand[job])
    slot_costs(prices[0][first:], prices[1][first:], *free, *demands, most, 0, left, costs, room)
    last, cost = best_schedule(costs, room, work, worth, 0.0, taken)
    return float(worth[last] - cost) if last >= 0 else 0.0


def bounds_of(result, scheduler):
    """By factor: no schedule of all jobs is worth more.  With factor 0, it is what each could get alone."""
    final = final_prices(result, scheduler.market.bounds)
    found = []
    for factor in FACTORS:
        prices = [factor * price for price in final]
        gains = sum(largest_gain(result, prices, job) for job in range(result.workload.num_jobs))
        found.append(gains + value_of_capacity(result, prices))
    return found


def crowded(seed):
    """More jobs than fit, and few slots."""
    workload, cluster = random_tiny(seed, most_jobs=10, most_slots=5)
    return ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0), record=True)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.5, math.inf]))
def test_the_dual_bounds_the_primal(seed, fill):
    """Weak duality, of the run itself: nothing was sold for less than it costs in the end.  U and L stay as they are,
    as the paper has it."""
    result, scheduler = play(small_world(seed, known=True), fill=fill, trust=math.inf)
    prices = final_prices(result, scheduler.market.bounds)
    assert run_dual(result, prices) >= result.total_utility - 1e-6


class Remembering(Oasis):
    """Keeps all bounds that were in force."""

    def decide(self, view):
        decisions = super().decide(view)
        self.kept = [*getattr(self, "kept", ()), self.market.bounds]
        return decisions


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 1.0, 10.0]))
def test_where_jobs_correct_the_bounds_the_highest_prices_bound_the_primal(seed, error):
    """A price may fall when L does, so those at the end need not be what was paid; the highest there were are."""
    scheduler = Remembering(OasisParams(error=error, trust=5.0, tolerance=0.0))
    result = run(small_world(seed), scheduler, np.random.default_rng(0))
    each = [final_prices(result, bounds) for bounds in scheduler.kept]
    highest = [np.max([prices[role] for prices in each], axis=0) for role in (0, 1)]
    assert run_dual(result, highest) >= result.total_utility - 1e-6


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.5, math.inf]),
    st.sampled_from([10.0, math.inf]),
    st.sampled_from(["worth", "arrival"]),
)
def test_prices_bound_every_schedule(seed, fill, trust, in_order):
    """Any prices do, so those of corrected bounds do, too."""
    world = crowded(seed)
    best = solve(world.info, world.workload.jobs(), time_s=20.0)
    result, scheduler = play(world, fill=fill, trust=trust, in_order=in_order)
    assert result.total_utility <= best.bound + 1e-6
    assert min(bounds_of(result, scheduler)) >= best.objective - 1e-6


def test_the_bound_of_the_prices_can_fail():
    """It is often below what the jobs would be worth each for itself, and mostly near the optimum."""
    below, ratios = 0, []
    for seed in range(20):
        world = crowded(seed)
        best = solve(world.info, world.workload.jobs(), time_s=20.0).objective
        alone, *priced = bounds_of(*play(world, fill=math.inf, trust=math.inf))
        below += min(priced) < 0.97 * alone
        ratios.append(min(alone, *priced) / best)
    assert below >= 5
    assert np.median(ratios) < 1.3
    assert min(ratios) < 1.01


def test_the_runs_own_dual_bounds_the_optimum_where_containers_are_small_and_only_there():
    """As in the paper; but where a worker takes much of a host, what does not fit may have a low price."""
    workload, cluster = random_tiny(651, most_jobs=4, most_slots=5)
    small = replace(
        workload,
        chunks=workload.chunks * 50,
        worker_demand=workload.worker_demand / 50,
        server_demand=workload.server_demand / 50,
    )
    duals = {}
    for name, jobs in (("large", workload), ("small", small.with_history(small.jobs()))):
        world = ElasticWorld(jobs, ElasticOptions(cluster), SeedTree(0), record=True)
        best = solve(world.info, jobs.jobs(), time_s=20.0).bound
        result, scheduler = play(world, fill=math.inf, trust=math.inf)
        duals[name] = run_dual(result, final_prices(result, scheduler.market.bounds)) / best
    assert duals["large"] < 0.01
    assert duals["small"] >= 1
