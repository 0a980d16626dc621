"""The exhaustive search finds what can be worked out by hand, and what trying everything one by one finds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, toy_workload

from dovetail import DagDecision, DagOptions, DagWorld, SeedTree
from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError, StalledWorld
from dovetail.testing.dag_optimum import Optimum, find_optimum
from dovetail.testing.dag_search_world import DECLINE, DagSearchWorld
from dovetail.workloads.dag import DagWorkload

SEEDS = SeedTree(0)


def optimum(*jobs: ToyJob, **options) -> Optimum:
    return find_optimum(toy_workload(*jobs), DagOptions(**options), SEEDS)


def test_one_executor_takes_the_shorter_job_first():
    long, short = ToyJob([ToyStage(1, 3.0)]), ToyJob([ToyStage(1, 1.0)])
    assert optimum(long, short, executors=1, moving_delay_s=0.0).avg_jct_s == (1 + 4) / 2
    assert optimum(long, short, executors=1, moving_delay_s=2.0).avg_jct_s == (3 + 8) / 2


def test_two_executors_share_the_tasks_only_if_moving_is_worth_it():
    """Six tasks of 1 s each: together both executors come, and after 2 s of moving it takes three rounds."""
    assert optimum(ToyJob([ToyStage(6, 1.0)]), executors=2, moving_delay_s=2.0).avg_jct_s == 5.0


def test_an_executor_sent_ahead_waits_for_its_stage():
    """A chain of 1 task of 4 s and 2 of 3 s: the second executor moves meanwhile and is there in time."""
    chain = ToyJob([ToyStage(1, 4.0), ToyStage(2, 3.0, parents=(0,))])
    assert optimum(chain, executors=2, moving_delay_s=2.0).avg_jct_s == 2 + 4 + 3


def test_it_waits_for_a_short_job_that_is_about_to_arrive():
    long, short = ToyJob([ToyStage(1, 100.0)]), ToyJob([ToyStage(1, 1.0)], arrival_s=1.0)
    best = optimum(long, short, executors=1, moving_delay_s=0.0)
    assert best.avg_jct_s == (1 + 102) / 2
    assert best.choices[0] == DECLINE


def random_toy(number: int) -> tuple[DagWorkload, DagOptions]:
    """Two jobs of one or two stages, one or two tasks each, on two executors; waves differ."""
    rng = np.random.default_rng(number)
    jobs = []
    for arrival_s in (0.0, float(rng.integers(3)) * (number % 2)):
        stages = []
        for position in range(rng.integers(1, 3)):
            seconds = {("fresh", 1): [4.0], ("first", 1): [3.0], ("rest", 1): rng.integers(1, 4, 2).tolist()}
            stages.append(
                ToyStage(int(rng.integers(1, 3)), seconds, parents=tuple(range(position))[-(number % 3 > 0) :])
            )
        jobs.append(ToyJob(stages, arrival_s))
    return toy_workload(*jobs), DagOptions(executors=2, moving_delay_s=float(rng.integers(3)))


def replay(workload: DagWorkload, options: DagOptions, decisions: list[list[DagDecision]]) -> DagWorld:
    world = DagWorld(workload, options, SEEDS)
    for decision in decisions:
        world.advance()
        world.apply(decision)
    return world


def all_runs_s(workload: DagWorkload, options: DagOptions, decisions: list[list[DagDecision]]) -> Iterator[float]:
    """Average completion times of all runs that begin like this, each played from the start in an ordinary world."""
    try:
        world = replay(workload, options, decisions)
        view = world.advance()
    except StalledWorld:
        return
    if view is None:
        yield world.result().avg_jct_s
        return
    possible = [
        [DagDecision(stage, limit)]
        for stage in np.flatnonzero(view.stage_valid).tolist()
        for limit in range(int(view.job_executors[view.stage_job[stage]]) + 1, options.executors + 1)
    ]
    for decision in [*possible, []]:
        yield from all_runs_s(workload, options, [*decisions, decision])


@pytest.mark.parametrize("number", [0, 2, 3, 4, 6, 8, 11])  # the others of the first dozen take 2 to 20 s each
def test_it_finds_what_trying_everything_finds(number):
    workload, options = random_toy(number)
    least_s = min(all_runs_s(workload, options, []))
    assert find_optimum(workload, options, SEEDS).avg_jct_s == pytest.approx(least_s, rel=1e-12)
    assert find_optimum(workload, options, SEEDS, prune=False).avg_jct_s == pytest.approx(least_s, rel=1e-12)


@pytest.mark.parametrize("number", range(12))
def test_its_choices_are_a_run_of_an_ordinary_world(number):
    workload, options = random_toy(number)
    best = find_optimum(workload, options, SEEDS)
    world = DagWorld(workload, options, SEEDS)
    for choice in best.choices:
        view = world.advance()
        job = np.flatnonzero(view.job_id == choice.job)
        stages = [] if choice == DECLINE else [int(view.job_stage_ptr[job[0]]) + choice.stage]
        world.apply([DagDecision(stage, choice.limit) for stage in stages])
    assert world.advance() is None
    assert world.result().avg_jct_s == best.avg_jct_s


@pytest.mark.parametrize("number", range(30))
def test_no_run_costs_less_than_the_bound_of_any_state_on_its_way(number):
    workload, options = random_toy(number)
    rng = np.random.default_rng(number)
    for _ in range(10):
        world = DagSearchWorld(workload, options, SEEDS)
        bounds, going = [], True
        while going:
            bounds.append(world.bound())
            choices = world.choices()
            going = world.step(
                choices[rng.integers(max(1, len(choices) - 1))]
            )  # declining only if nothing else is left
        assert world.complete
        assert max(bounds) <= world.cost + 1e-9


def test_it_says_when_the_time_was_up():
    workload, options = random_toy(0)
    given_up = find_optimum(workload, options, SEEDS, known_s=1000.0, limit_s=-1.0)
    assert (given_up.proven, given_up.avg_jct_s, given_up.choices) == (False, 1000.0, ())


def test_a_known_run_that_is_optimal_already_is_not_found_again():
    workload, options = random_toy(0)
    best = find_optimum(workload, options, SEEDS)
    again = find_optimum(workload, options, SEEDS, known_s=best.avg_jct_s)
    assert (again.avg_jct_s, again.proven, again.choices) == (best.avg_jct_s, True, ())
    assert again.states <= best.states
    assert math.isinf(find_optimum(workload, options, SEEDS, limit_s=-1.0).avg_jct_s)


def test_clusters_that_it_does_not_know_are_refused():
    workload, _ = random_toy(0)
    with pytest.raises(ConfigError, match="without executor classes, failures and compat"):
        find_optimum(workload, DagOptions(classes=(ExecutorClass(2),)), SEEDS)
