"""`Dovetail/Elastic-v0`: spaces, episodes, and that rewards are utilities."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from dovetail import SCHEDULERS, SeedTree
from dovetail.core.errors import ConfigError, DovetailError, InvalidDecision
from dovetail.envs import ElasticEnv
from dovetail.features.elastic import BANDS, COLUMNS
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.testing.elastic_tiny import TinyJob, tiny_workload

SMALL = {"jobs": 20, "slots": 30, "servers": 6}
SETTINGS = {
    "small": SMALL,
    "bursts": {**SMALL, "arrivals": "bursts"},
    "at once": {**SMALL, "arrivals": "batch"},
    "two choices": {**SMALL, "factors": (0.5, 2.0)},
}
AS_IT_IS = 4  # the action that multiplies by 1


def play(env, seed, choose=None, options=None):
    """The steps of an episode, the reset included; at random unless told how to choose."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed, options=options)
    steps = [(observation, 0.0, False, False, info)]
    while not steps[-1][2]:
        action = rng.integers(env.action_space.n) if choose is None else choose
        steps.append(env.step(action))
    return steps


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_gymnasium_finds_no_fault(setting):
    check_env(gymnasium.make("Dovetail/Elastic-v0", **setting).unwrapped)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_random_policy_ends_and_sees_what_the_space_says(setting):
    env = ElasticEnv(**setting)
    for seed in range(3):
        steps = play(env, seed)
        assert all(step[0] in env.observation_space for step in steps)
        assert len(steps) - 1 <= 30  # a slot each
        assert [step[2] for step in steps[:-1]] == [False] * (len(steps) - 1)
        assert not steps[-1][0].any() and steps[-1][-1]["slot"] == -1


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_rewards_sum_to_the_total_utility(setting):
    env = ElasticEnv(**setting)
    for seed in range(5):
        steps = play(env, seed)
        total = sum(step[1] for step in steps)
        assert total == pytest.approx(env.result.total_utility, rel=1e-9)
        assert (
            total == pytest.approx(steps[-1][-1]["total_utility"]) == pytest.approx(steps[-1][-1]["utility_in_sight"])
        )
        assert total > 0


def test_the_same_seed_is_the_same_episode():
    one, other = ElasticEnv(**SMALL), ElasticEnv(**SMALL)
    play(other, 99)  # what was played before does not matter
    assert data_equivalence(play(one, 1), play(other, 1), exact=True)
    assert data_equivalence(one.reset(), other.reset(), exact=True)  # the next episode of that seed
    assert not data_equivalence(one.reset(seed=1), one.reset(), exact=True)


def test_without_a_seed_it_draws_one():
    assert not data_equivalence(ElasticEnv(**SMALL).reset(), ElasticEnv(**SMALL).reset(), exact=True)


@pytest.mark.parametrize("seed", range(3))
def test_prices_as_they_are_is_oasis_replan(seed):
    """Seed k of the environment is seed k of a comparison."""
    env = ElasticEnv(**SMALL)
    play(env, seed, AS_IT_IS)
    workload = env.setting.sequence(env.source, SeedTree(seed))
    world = ElasticWorld(workload, ElasticOptions(env.setting.hosts(env.source)), SeedTree(seed))
    expected = run(world, SCHEDULERS.create("elastic/oasis-replan"), np.random.default_rng(0))
    assert env.result.finish.tolist() == expected.finish.tolist()
    assert env.result.used.tolist() == expected.used.tolist()


def test_actions_matter():
    env = ElasticEnv(**SMALL)
    totals = np.array([[sum(step[1] for step in play(env, seed, a)) for seed in range(6)] for a in (0, AS_IT_IS, 8)])
    assert len(np.unique(totals.mean(axis=1).round(6))) == 3


def test_what_is_dear_is_not_sold():
    """A job alone that needs two slots: at a low price it gets both at once.  At one that it cannot pay it gets what
    the present slot has left, for nothing and without a promise, until it is complete."""
    workload = tiny_workload([TinyJob(work=8, most=4, worth=10.0, decay=0.0)], slots=6)
    rewards = {}
    for action in (0, 1):
        env = ElasticEnv(factors=(1e-6, 1e9))
        rewards[action] = [step[1] for step in play(env, 0, action, {"workload": workload})][1:]
    assert rewards == {0: [pytest.approx(5.0)], 1: [0.0, pytest.approx(5.0)]}  # decay 0: half of the worth


def test_observations_are_features_by_distance():
    env = ElasticEnv(**SMALL)
    observation, info = env.reset(seed=0)
    assert observation.shape == (len(BANDS) * len(COLUMNS),)
    bands = observation.reshape(len(BANDS), len(COLUMNS))
    assert bands[0, COLUMNS.index("soon")] == 1.0
    assert info["waiting"] > 0 and bands[0, COLUMNS.index("waiting_jobs")] == pytest.approx(info["waiting"] / 20)


def test_several_of_them():
    envs = gymnasium.make_vec("Dovetail/Elastic-v0", num_envs=2, **SMALL)
    envs.reset(seed=0)
    observation, reward, *_ = envs.step(np.array([0, 8]))
    assert observation.shape == (2, len(BANDS) * len(COLUMNS)) and reward.shape == (2,)
    envs.close()


def test_step_needs_an_episode_and_a_valid_action():
    env = ElasticEnv(**SMALL)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(InvalidDecision, match="action 9; expected 0 to 8"):
        env.step(9)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"job": 3}, "no setting 'job'.*jobs"),
        ({"jobs": 0}, "jobs is 0; expected at least 1"),
        ({"factors": ()}, "expected at least one number above 0"),
        ({"factors": (0.0, 1.0)}, "expected at least one number above 0"),
        ({"servers": 1}, "servers is 1; expected 2 or more"),
        ({"arrivals": "sometimes"}, "unknown kind of arrivals 'sometimes'"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(DovetailError, match=message):
        ElasticEnv(**setting).reset(seed=0)


def test_reset_options_that_make_no_sense():
    with pytest.raises(ConfigError, match=r"no option 'workloads'.*workload"):
        ElasticEnv(**SMALL).reset(options={"workloads": None})
