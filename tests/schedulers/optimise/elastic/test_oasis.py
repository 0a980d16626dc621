"""OASiS: what its proofs say, checked in runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.optimise.elastic.small_worlds import small_world

from dovetail.core.elastic import Reason, utility
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.optimise.elastic.oasis import Oasis, OasisParams
from dovetail.schedulers.optimise.elastic.offline import solve
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.testing.elastic_tiny import random_tiny

SEEDS = st.integers(0, 10_000)


def play(world, **params):
    scheduler = Oasis(OasisParams(**params))
    return run(world, scheduler, np.random.default_rng(0)), scheduler


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_accepted_jobs_finish_when_promised_and_the_others_never_run(seed):
    world = small_world(seed)
    result, _ = play(world)
    assert (result.finish[result.admitted] == result.promise[result.admitted]).all()
    assert ((result.rejected >= 0) == ~result.admitted).all()
    assert set(result.used[:, 1].tolist()) == set(np.flatnonzero(result.admitted).tolist())


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_capacity_is_never_exceeded(seed):
    """From what stood where, not from what the calendar says."""
    world = small_world(seed)
    result, _ = play(world)
    jobs = world.workload.jobs()
    for role, demand, capacity in (
        (0, jobs.worker_demand, result.worker_capacity),
        (1, jobs.server_demand, result.server_capacity),
    ):
        load = np.zeros((world.workload.slots, *capacity.shape))
        for slot, job, _, host, amount in result.used[result.used[:, 2] == role].tolist():
            load[slot, host] += amount * demand[job]
        assert (load <= capacity + 1e-6).all()


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_what_a_decision_says_is_what_happens(seed):
    result, _ = play(small_world(seed))
    for row in result.decision_log:
        if row.rejected:
            assert row.reason in (Reason.NO_POSITIVE_PAYOFF, Reason.CANNOT_FINISH)
            continue
        assert row.reason == Reason.POSITIVE_PAYOFF
        assert row.utility == pytest.approx(result.utility[row.job])
        assert row.utility - row.cost > 0
        assert row.worker_slots == result.workload.work[row.job]


def dual_value(result, bounds, *, lumps):
    """Payoffs of the jobs and final prices of all capacity.

    `lumps`: where a job's workers (or servers) would no longer fit, all that the job may have on one host, what they
    lack costs U.  The paper takes prices for smooth: what has no room for a worker is full, and costs U anyway.
    """
    jobs = result.workload.jobs()
    dual = sum(row.utility - row.cost for row in result.decision_log if not row.rejected)
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
        prices = bound.prices(free, capacity)
        if lumps:
            most = np.minimum(jobs.max_workers, jobs.work)[:, None] * demand  # (J, R); there are no more servers
            lacks = (most[:, None, None] > free + 1e-9).any(axis=0)
            prices = np.where(lacks & (capacity > 0), np.maximum(prices, bound.high), prices)
        dual += float((prices * capacity).sum())
    return dual


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.sampled_from([0.5, math.inf]))
def test_the_dual_bounds_the_primal(seed, fill):
    """Weak duality, of the run itself: nothing was sold for less than it costs in the end."""
    result, scheduler = play(small_world(seed, known=True), fill=fill, tolerance=0.0)
    assert dual_value(result, scheduler.bounds, lumps=False) >= result.total_utility - 1e-6


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.5, math.inf]), st.sampled_from(["worth", "arrival"]))
def test_the_dual_bounds_every_schedule(seed, fill, in_order):
    """Payoffs and final prices are a feasible dual, so that their value is no less than the offline optimum.

    A schedule that there was room for was looked at, at prices no higher than the final ones, and the job got the best
    of them.  One that there was no room for costs U somewhere, more than the job is worth.
    """
    workload, cluster = random_tiny(seed, most_jobs=6, most_slots=8)
    world = ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0), record=True)
    best = solve(world.info, workload.jobs(), time_s=20.0)
    result, scheduler = play(world, fill=fill, tolerance=0.0, in_order=in_order)
    assert result.total_utility <= best.bound + 1e-6
    assert dual_value(result, scheduler.bounds, lumps=True) >= best.objective - 1e-6


def test_prices_alone_bound_the_optimum_where_containers_are_small_and_only_there():
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
        result, scheduler = play(world, fill=math.inf, tolerance=0.0)
        duals[name] = [dual_value(result, scheduler.bounds, lumps=lumps) / best for lumps in (False, True)]
    assert duals["large"][0] < 0.01 and duals["large"][1] >= 1
    assert duals["small"][0] >= 1


def test_rejects_what_cannot_finish_and_says_so():
    world = small_world(3)
    endless = replace(world.workload, epochs=np.full(world.workload.num_jobs, 10_000))
    world = ElasticWorld(endless, world.options, world.seeds, record=True)
    result, _ = play(world)
    assert not result.admitted.any()
    assert {row.reason for row in result.decision_log} == {Reason.CANNOT_FINISH}


def test_the_floor_is_worth_a_lot_when_there_is_much_to_choose_from():
    ours = [play(small_world(seed, jobs=60))[0].total_utility for seed in range(8)]
    published = [play(small_world(seed, jobs=60), fill=math.inf)[0].total_utility for seed in range(8)]
    assert np.mean(ours) > 1.1 * np.mean(published)


def test_utilities_are_those_of_the_paper():
    assert utility(np.array([10.0, 0.0, 5.0]), np.array(99.0)) == pytest.approx(5.0)
    assert utility(np.array([10.0, 1.0, 5.0]), np.array(5.0)) == pytest.approx(5.0)
    assert utility(np.array([10.0, 5.0, 5.0]), np.array(7.0)) < 1e-3


@pytest.mark.parametrize(
    ("spec", "says"), [("fill=-1", "fill"), ("error=0", "error"), ("tolerance=2", "tolerance"), ("fill=nan", "fill")]
)
def test_bad_parameters(spec, says):
    with pytest.raises(ConfigError, match=says):
        SCHEDULERS.create(f"elastic/oasis:{spec}")


def test_like_jobs_and_large_ones_are_admitted():
    """Twelve of the same job, and one that fills most of the cluster: the floor leaves them a payoff."""
    for jobs in (12, 1):
        world = small_world(4, jobs=max(jobs, 2), hosts=4)
        first = replace(
            world.workload,
            **{
                name: np.repeat(getattr(world.workload, name)[:1], jobs, axis=0)
                for name in (
                    "arrival",
                    "epochs",
                    "chunks",
                    "batches",
                    "batch_s",
                    "gradient_mb",
                    "worker_demand",
                    "server_demand",
                )
            },
            utility=np.tile([10.0, 0.0, 0.0], (jobs, 1)),
            job_name=tuple(map(str, range(jobs))),
        )
        result, _ = play(ElasticWorld(first.with_history(first.jobs()), world.options, world.seeds, record=True))
        assert result.admitted.any()
