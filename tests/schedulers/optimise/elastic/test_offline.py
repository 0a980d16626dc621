"""The offline optimum: toys, brute force, and what it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import Reason
from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.heuristic.elastic.srtf import Srtf
from dovetail.schedulers.optimise.elastic.offline import Offline, solve, upper_bound
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticWorld, run
from dovetail.testing.elastic_optimum import best_total_utility
from dovetail.testing.elastic_tiny import ONE_HOST, TinyJob, random_tiny, tiny_workload
from dovetail.workloads.elastic import ElasticWorkload


def play(workload: ElasticWorkload, cluster: ElasticCluster, scheduler: Offline) -> ElasticResult:
    world = ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0), record=True)
    return run(world, scheduler, np.random.default_rng(0))


def test_the_later_and_better_job_is_waited_for():
    """Two GPUs, four slots.  The first would take them all and be worth 10; the others are worth 12 together."""
    jobs = [TinyJob(8, worth=20), TinyJob(4, arrival=2, worth=12), TinyJob(4, worth=12)]
    scheduler = Offline()
    result = play(tiny_workload(jobs, 4), ONE_HOST, scheduler)
    assert result.total_utility == scheduler.objective == pytest.approx(12.0)  # decay 0: half of the worth
    assert result.rejected.tolist() == [0, -1, -1]  # by arrival, then as given
    assert result.finish.tolist() == [-1, 1, 3]
    assert {row.reason for row in result.decision_log} == {Reason.OFFLINE_OPTIMUM}
    assert scheduler.gap == 0.0
    assert scheduler.note == "offline optimum 12, proven"


def test_capacity_of_like_hosts_together_is_not_enough():
    """Three workers of 17 processors would fit the 64 of two hosts together, but only one fits each."""
    jobs = [TinyJob(3, most=3, gpu=0, cpu=17)]
    cluster = replace(ONE_HOST, worker_hosts=2)
    assert solve_in(tiny_workload(jobs, 1), cluster).objective == 0.0
    assert solve_in(tiny_workload(jobs, 2), cluster).objective == 5.0
    mixed = [TinyJob(1, most=1, gpu=0, cpu=20, worth=10)] * 3
    solution = solve_in(tiny_workload(mixed, 1), cluster)  # 60 of 64, yet one host each
    assert (solution.objective, solution.proven) == (10.0, True)


def solve_in(workload: ElasticWorkload, cluster: ElasticCluster, **limits: float):
    world = ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0))
    return solve(world.info, workload.jobs(), **limits)


@given(st.integers(0, 10**6))
@settings(max_examples=60)
def test_equals_brute_force(seed: int):
    workload, cluster = random_tiny(seed, most_jobs=3, most_slots=4)
    world = ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0))
    solution = solve(world.info, workload.jobs())
    best = best_total_utility(workload, cluster)
    assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert solution.bound == pytest.approx(best, rel=1e-5, abs=1e-6)
    for pooled in (True, False):
        assert upper_bound(world.info, workload.jobs(), pooled=pooled) >= best * (1 - 1e-6)


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_the_world_carries_it_out_and_it_is_worth_what_it_says(seed: int):
    workload, cluster = random_tiny(seed, most_jobs=6, most_slots=8)
    scheduler = Offline()
    result = play(workload, cluster, scheduler)
    assert result.total_utility == pytest.approx(scheduler.objective, rel=1e-9)
    assert result.finish.tolist() == scheduler.found.finish.tolist() == result.promise.tolist()
    online = run(ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0)), Srtf(), np.random.default_rng(0))
    assert online.total_utility <= scheduler.bound * (1 + 1e-6)


def test_without_time_it_has_a_plan_and_says_what_is_missing():
    workload, cluster = random_tiny(3, most_jobs=6, most_slots=8)
    scheduler = Offline(Offline.Params(time_s=1e-9))
    result = play(workload, cluster, scheduler)
    assert result.total_utility == pytest.approx(scheduler.objective)
    assert scheduler.bound >= best_known(workload, cluster) > 0
    if scheduler.gap:
        assert "at most" in scheduler.note


def best_known(workload: ElasticWorkload, cluster: ElasticCluster) -> float:
    return solve_in(workload, cluster).objective


def test_a_world_that_keeps_the_future_to_itself_is_refused():
    world = ElasticWorld(tiny_workload([TinyJob(1)], 1), ElasticOptions(ONE_HOST), SeedTree(0))
    with pytest.raises(DovetailError, match="tells the future"):
        Offline().reset(world.info, np.random.default_rng(0))


@pytest.mark.parametrize(("wrong", "text"), [({"time_s": 0.0}, "more than 0"), ({"gap": 1.0}, "below 1")])
def test_parameters_have_ranges(wrong: dict[str, float], text: str):
    with pytest.raises(ValueError, match=text):
        Offline.Params(**wrong)
