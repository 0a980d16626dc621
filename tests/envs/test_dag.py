"""`Dovetail/Dag-v0`."""

from __future__ import annotations

import math
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from tests.envs.play import LAYERED, SETTINGS, SMALL, lengths, play, random_action

from dovetail.core.errors import ConfigError, InvalidDecision, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.envs import DagEnv
from dovetail.envs.dag import limits_allowed
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagWorld, run
from dovetail.sim.dag.objective import OBJECTIVES
from dovetail.workloads import Arrivals, open_source


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_gymnasium_finds_no_fault(setting):
    """Warnings are errors here, so there are none either."""
    check_env(gymnasium.make("Dovetail/Dag-v0", **setting).unwrapped)


def test_gymnasium_finds_no_fault_with_the_defaults():
    check_env(gymnasium.make("Dovetail/Dag-v0").unwrapped)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_observation_is_in_the_space(setting):
    env = DagEnv(**setting)
    space = env.observation_space
    for seed in range(3):
        for observation, *_ in play(env, seed):
            assert observation in space
    assert env.observation_space is space
    assert any(len(step[0]["graph"].edges) for step in play(env, 0)), "the space must accept edges"


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_same_seed_same_actions_same_trajectory(setting):
    one, other = DagEnv(**setting), DagEnv(**setting)
    play(other, 99)  # what was played before does not matter
    for seed in range(2):
        assert data_equivalence(play(one, seed), play(other, seed), exact=True)
    one.reset(seed=3), other.reset(seed=3)
    assert data_equivalence(one.reset(), other.reset(), exact=True)


def test_episodes_after_one_seed_differ():
    env = DagEnv(**SMALL)
    first = env.reset(seed=0)
    assert not data_equivalence(first, env.reset(), exact=True)


def test_without_a_seed_it_draws_one():
    env, other = DagEnv(**SMALL), DagEnv(**SMALL)
    assert not data_equivalence(env.reset(), other.reset(), exact=True)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rewards_sum_to_minus_the_cost(setting, objective):
    env = DagEnv(**{**setting, "objective": objective})
    for seed in range(2):
        steps = play(env, seed)
        rewards = [reward for _, reward, *_ in steps]
        costs = env.result.costs
        price = OBJECTIVES[objective]
        total = sum(getattr(price, name) * costs[name] for name in costs)
        assert math.fsum(rewards) == pytest.approx(-total, rel=1e-12)
        assert steps[-1][-1]["cost"] == pytest.approx(total, rel=1e-12)


def test_rewards_sum_to_the_completion_times_exactly_where_floats_are_exact():
    env = DagEnv(workload=lengths(1.0, 2.0, 8.0), jobs=5, executors=2)
    for seed in range(5):
        steps = play(env, seed)
        assert sum(reward for _, reward, *_ in steps) == -env.result.completion_s.sum()
        assert steps[-1][-1]["avg_jct_s"] == env.result.avg_jct_s


def test_an_episode_ends_by_itself_or_is_cut_off():
    *_, (_, _, terminated, truncated, info) = play(DagEnv(**SMALL), 0)
    assert (terminated, truncated) == (True, False)
    assert (info["jobs_completed"], info["jobs_left"]) == (4, 0)
    *_, (_, _, terminated, truncated, info) = play(DagEnv(**SETTINGS["cut off"]), 0)
    assert (terminated, truncated) == (False, True)
    assert info["jobs_left"] > 0
    assert info["end_s"] == info["time_s"] == 25.0


@pytest.mark.parametrize("spec", ["dag/random", "dag/fifo"])
def test_a_scheduler_gets_through_the_environment_what_it_gets_in_the_world(spec):
    """Seed k of the environment is seed k of a comparison: same jobs, same luck."""
    env = DagEnv(**SMALL, invalid="raise")
    for seed in range(3):
        seeds = SeedTree(seed)
        workload = open_source(LAYERED).sequence(4, Arrivals(), seeds)
        world = DagWorld(workload, env.setting.cluster(), seeds)
        expected = run(world, SCHEDULERS.create(spec), np.random.default_rng(1))
        scheduler = SCHEDULERS.create(spec)
        scheduler.reset(world.info, np.random.default_rng(1))
        env.reset(seed=seed)
        while env.view is not None:
            decision = scheduler.decide(env.view)[0]
            env.step((decision.stage, decision.limit))
        assert env.result.finish_s.tolist() == expected.finish_s.tolist()
        assert env.result.decisions == expected.decisions


def test_masks_say_exactly_what_is_accepted():
    env = DagEnv(**SMALL, penalty=7.0)
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    accepted = 0
    for _ in range(12):
        for stage in range(env.max_stages):
            for limit in range(1, env.num_executors + 1):
                allowed = info["limit_mask"][stage, limit - 1]
                if not allowed:
                    same, reward, *ends, told = env.step((stage, limit))
                    assert data_equivalence(same, observation, exact=True)
                    assert (reward, ends) == (-7.0, [False, False])
                    assert told["invalid"]
                accepted += bool(allowed)
        assert np.array_equal(info["limit_mask"].any(1), info["stage_mask"])
        assert np.array_equal(info["stage_mask"], observation["stage_mask"])
        allowed = limits_allowed(observation["least_limit"], env.num_executors)
        assert np.array_equal(info["limit_mask"], allowed & (observation["stage_mask"] == 1)[:, None])
        observation, _, terminated, _, info = env.step(random_action(info, rng))
        assert "invalid" not in info
        if terminated:
            break
    assert accepted > 0


def test_invalid_actions_are_counted_and_do_not_change_the_episode():
    env = DagEnv(**SMALL)
    expected = play(env, 5)[-1][-1]
    rng = np.random.default_rng(5)
    _, info = env.reset(seed=5)
    done = False
    while not done:
        env.step((env.max_stages - 1, 1))
        _, _, done, _, info = env.step(random_action(info, rng))
    assert info["avg_jct_s"] == expected["avg_jct_s"]
    assert info["invalid_actions"] == info["decisions"]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ((10_000, 1), "stage 10000 is padding: stages 0 to"),
        ((-1, 1), "stage -1 is padding"),
        ((0, 0), "limit 0 .* must be from 1 to 5"),
        ((0, 6), "limit 6 .* must be from 1 to 5"),
    ],
)
def test_an_invalid_action_can_be_an_error(action, message):
    env = DagEnv(**SMALL, invalid="raise")
    env.reset(seed=0)
    assert env.view.stage_valid[0]
    with pytest.raises(InvalidDecision, match=message):
        env.step(action)


def test_a_stage_that_waits_for_another_cannot_be_chosen():
    env = DagEnv(**SMALL, invalid="raise")
    _, info = env.reset(seed=0)
    stage = int(np.argmin(info["stage_mask"]))
    with pytest.raises(InvalidDecision, match=rf"stage {stage} \(stage \d of job \d\) may not be chosen now"):
        env.step((stage, 5))


def test_a_given_workload_is_played():
    env = DagEnv(**{**SMALL, "jobs": 2})
    source = lengths(3.0, 5.0)
    workload = replace(
        source.sequence(2, Arrivals(), SeedTree(0)), job_dag=np.array([0, 1]), arrival_s=np.array([0.0, 4.0])
    )
    steps = play(env, 0, {"workload": workload})
    assert env.result.workload is workload
    assert len(steps) - 1 == env.result.decisions == 2
    env.reset()
    assert env.view.job_id.size == 2  # back to drawn sequences, both jobs at once


def test_the_horizon_can_be_set_for_an_episode():
    env = DagEnv(**SMALL)
    *_, (_, _, _, truncated, info) = play(env, 0, {"horizon_s": 3.0})
    assert truncated and info["end_s"] == 3.0
    assert play(env, 0)[-1][2]


def test_a_job_too_large_for_the_spaces_is_refused():
    env = DagEnv(workload=lengths(1.0), jobs=2, executors=2)
    workload = open_source(LAYERED).sequence(1, Arrivals(), SeedTree(0))
    with pytest.raises(ConfigError, match=r"a job of .* stages, but the environment has room for 2"):
        env.reset(seed=0, options={"workload": workload})


def test_step_needs_an_episode():
    env = DagEnv(**SMALL)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step((0, 1))
    play(env, 0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step((0, 1))


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"job": 3}, ConfigError, "no setting 'job'.*jobs"),
        ({"jobs": 0}, ConfigError, "jobs is 0; expected at least 1"),
        ({"executors": 3, "options": SETTINGS["two sizes"]["options"]}, ConfigError, "both given"),
        ({"objective": "makspan"}, UnknownName, "makespan"),
        ({"features": "decima-2"}, UnknownName, "decima-1"),
        ({"invalid": "ignore"}, ConfigError, "expected penalise or raise"),
        ({"penalty": -1.0}, ConfigError, "penalty is -1.0; expected 0 or more"),
        ({"horizon_s": 0.0}, ConfigError, "expected a time above 0 s"),
        ({"max_stages": 2, "workload": LAYERED}, ConfigError, "expected room for the largest job at least"),
        ({"arrivals": "poisson"}, ConfigError, "either a mean interval in seconds or a load"),
    ],
)
def test_settings_that_make_no_sense(setting, error, message):
    with pytest.raises(error, match=message):
        DagEnv(**setting).reset(seed=0)


def test_reset_options_that_make_no_sense():
    env = DagEnv(**SMALL)
    with pytest.raises(ConfigError, match=r"no option 'horizon'.*horizon_s"):
        env.reset(options={"horizon": 3.0})
    late = DagEnv(**{**SMALL, "arrivals": "poisson", "interval_s": 1e9})
    with pytest.raises(ConfigError, match="no job arrives before the horizon"):
        late.reset(seed=0, options={"horizon_s": 1e-9})


def test_gymnasium_can_step_several_of_them():
    """Slower than our own vector environment, but it must work for who wants wrappers on each."""
    env = gymnasium.make_vec("Dovetail/Dag-v0", num_envs=2, vectorization_mode="sync", **SMALL)
    observation, infos = env.reset(seed=0)
    for _ in range(10):
        assert observation in env.observation_space
        stage = infos["stage_mask"].argmax(axis=1)
        observation, *_, infos = env.step(np.stack((stage, [5, 5]), axis=1))
    env.close()
