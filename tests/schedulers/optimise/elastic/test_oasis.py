"""OASiS: what its proofs say, checked in runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.optimise.elastic.small_worlds import small_world

from dovetail.cluster.elastic import halves
from dovetail.core.elastic import Reason, utility
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_elastic import ElasticSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.optimise.elastic.oasis import Oasis, OasisParams
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.workloads.elastic import ElasticWorkload

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


def test_rejects_what_cannot_finish_and_says_so():
    world = small_world(3)
    endless = replace(world.workload, epochs=np.full(world.workload.num_jobs, 10_000))
    world = ElasticWorld(endless, world.options, world.seeds, record=True)
    result, _ = play(world)
    assert not result.admitted.any()
    assert {row.reason for row in result.decision_log} == {Reason.CANNOT_FINISH}


def test_the_floor_is_worth_a_lot_when_there_is_much_to_choose_from():
    ours = [play(small_world(seed, jobs=60))[0].total_utility for seed in range(8)]
    published = [play(small_world(seed, jobs=60), fill=math.inf, trust=math.inf)[0].total_utility for seed in range(8)]
    assert np.mean(ours) > 1.1 * np.mean(published)


@pytest.mark.parametrize("error", [0.1, 10.0])
def test_jobs_that_come_make_up_for_wrong_estimates(error):
    """Of what wrong estimates cost, most is got back; and where they are right, little is lost."""

    opened = ElasticSetting("oasis-small").open()

    def got(**params):
        worlds = (opened.world(opened.sequence(seed), SeedTree(seed)) for seed in range(1000, 1004))
        return np.mean([play(world, **params)[0].total_utility for world in worlds])

    right, fixed, learning = got(trust=math.inf), got(error=error, trust=math.inf), got(error=error)
    assert fixed < 0.85 * right
    assert learning > fixed + 0.6 * (right - fixed)
    assert got() > 0.95 * right


def test_a_handful_of_large_jobs_is_not_priced_out():
    """The example of docs/elastic.md: all three fit, and two of them would fill half of the cluster."""
    fields = ("arrival", "epochs", "chunks", "batches", "batch_s")
    rows = {"resnet": (0, 30, 8, 100, 2.0), "bert": (2, 10, 16, 200, 1.5), "small-cnn": (3, 20, 4, 50, 1.0)}
    workload = ElasticWorkload(
        slots=14,
        slot_s=600.0,
        job_name=tuple(rows),
        **{name: np.array(column) for name, column in zip(fields, zip(*rows.values(), strict=True), strict=True)},
        gradient_mb=np.zeros(3),
        worker_demand=np.array([(1, 4, 16, 0, 1), (2, 8, 32, 0, 1), (0, 4, 8, 0, 1)], dtype=np.float64),
        server_demand=np.array([(0, 2, 0, 0, 1), (0, 4, 0, 0, 1), (0, 1, 0, 0, 1)], dtype=np.float64),
        utility=np.array([(80, 0.5, 12), (100, 4, 10), (10, 0, 0)], dtype=np.float64),
        history=None,
    )
    workload = workload.with_history(workload.jobs())
    result, _ = play(ElasticWorld(workload, ElasticOptions(halves(4)), SeedTree(0), record=True))
    assert result.admitted.all()
    assert result.total_utility == pytest.approx(168.6, abs=0.1)


def test_utilities_are_those_of_the_paper():
    assert utility(np.array([10.0, 0.0, 5.0]), np.array(99.0)) == pytest.approx(5.0)
    assert utility(np.array([10.0, 1.0, 5.0]), np.array(5.0)) == pytest.approx(5.0)
    assert utility(np.array([10.0, 5.0, 5.0]), np.array(7.0)) < 1e-3


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("fill=-1", "fill"),
        ("error=0", "error"),
        ("tolerance=2", "tolerance"),
        ("fill=nan", "fill"),
        ("trust=-1", "trust"),
        ("trust=nan", "trust"),
    ],
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
