"""Evolution strategies on toys with a known optimum."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.errors import ConfigError
from dovetail.training.evolution import EvolutionPlan, EvolutionState, step


def learn(play, size, plan, seed=0):
    state, rng = EvolutionState.start(np.zeros(size)), np.random.default_rng(seed)
    for _ in range(plan.iterations):
        step(state, plan, play, rng)
    return state.parameters


def test_it_finds_the_top_of_a_hill():
    top = np.array([1.0, -2.0, 0.5])
    plan = EvolutionPlan(iterations=300, pairs=6, width=0.1, rate=0.05)
    found = learn(lambda tried: 10.0 - ((tried - top) ** 2).sum(axis=1)[:, None], 3, plan)
    assert found == pytest.approx(top, abs=0.15)


def test_what_chance_brings_to_both_ways_cancels():
    """Sequences differ a hundred times more than parameters do; the same ones for all make that harmless."""
    top = np.array([0.7, -0.7])
    noise = np.random.default_rng(1)

    def play(tried):
        luck = noise.uniform(100.0, 300.0, size=4)
        return luck[None, :] - ((tried - top) ** 2).sum(axis=1)[:, None]

    plan = EvolutionPlan(iterations=300, pairs=6, width=0.1, rate=0.05)
    assert learn(play, 2, plan) == pytest.approx(top, abs=0.2)


def test_a_parameter_that_counts_more_is_tried_less_far():
    scale, seen = np.array([1.0, 0.01]), []

    def play(tried):
        seen.append(tried)
        return -((tried - [1.0, 0.01]) ** 2 * [1.0, 1e4]).sum(axis=1)[:, None]

    state, rng = EvolutionState.start(np.zeros(2)), np.random.default_rng(0)
    plan = EvolutionPlan(iterations=200, pairs=8, width=0.1, rate=0.05)
    for _ in range(plan.iterations):
        step(state, plan, play, rng, scale)
    assert np.ptp(seen[0][:, 0]) > 20 * np.ptp(seen[0][:, 1])
    assert state.parameters == pytest.approx([1.0, 0.01], rel=0.15)


def test_one_huge_difference_does_not_decide_alone():
    """Of 16 directions, one was struck by chance; limited, the step still goes up the hill."""

    def play(tried):
        rewards = tried.sum(axis=1)[:, None] + 0.0
        rewards[0] -= 1e3
        return rewards

    def gained(largest):
        found = []
        for seed in range(40):
            state = EvolutionState.start(np.full(8, 10.0))
            step(state, EvolutionPlan(pairs=16, width=0.1, largest=largest), play, np.random.default_rng(seed))
            found.append(state.mean.sum())
        return np.mean(np.array(found) > 0.0)

    assert gained(0.01) > 0.9 > gained(1e3)


def test_the_same_seed_takes_the_same_way():
    plan = EvolutionPlan(iterations=5, pairs=2)

    def play(tried):
        return -((tried - 1.0) ** 2).sum(axis=1)[:, None]

    assert (learn(play, 4, plan, seed=3) == learn(play, 4, plan, seed=3)).all()
    assert (learn(play, 4, plan, seed=3) != learn(play, 4, plan, seed=4)).any()


@pytest.mark.parametrize(
    ("name", "value"), [("pairs", 0), ("width", 0.0), ("rate", float("nan")), ("iterations", 0), ("largest", 0.0)]
)
def test_bad_plans(name, value):
    with pytest.raises(ConfigError, match=name):
        EvolutionPlan(**{name: value})
