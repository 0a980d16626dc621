"""An agent for each operator of streaming jobs."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import parallel_api_test

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.envs import StreamEnv, StreamParallelEnv
from dovetail.features.stream import COLUMNS

SMALL = {"workload": "nexmark-q3", "duration_s": 6 * 3600.0}
SETTINGS = {"small": SMALL, "several jobs": {**SMALL, "workload": "shared"}}


def play(env, seed, choose=None):
    rng = np.random.default_rng(seed)
    observations, infos = env.reset(seed=seed)
    steps = [(observations, {}, {}, {}, infos)]
    while env.agents:
        choices = rng.integers(env._play.most) if choose is None else choose(env.view)
        steps.append(env.step(dict(zip(env.agents, choices, strict=True))))
    return steps


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_pettingzoo_finds_no_fault(setting):
    parallel_api_test(StreamParallelEnv(**setting), num_cycles=20)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_it_is_the_world_of_the_single_agent(setting):
    """The same choices come to the same, whether one agent makes them or many."""
    many, one = StreamParallelEnv(**setting), StreamEnv(**setting)
    steps = play(many, 3)
    rng = np.random.default_rng(3)
    observation, _ = one.reset(seed=3)
    for seen, *_ in steps[:-1]:
        assert np.array_equal(np.stack([seen[agent] for agent in many.possible_agents], axis=1), observation)
        observation, reward, over, _, _ = one.step(rng.integers(one.action_space.nvec))
    assert over and many.result.reward.tolist() == one.result.reward.tolist()
    jobs = one.info.operator_job
    last = [steps[-1][1][agent] for agent in many.possible_agents]
    assert last == one.result.reward[-1][jobs].tolist() and reward == pytest.approx(one.result.reward[-1].mean())


def test_agents_and_spaces():
    env = StreamParallelEnv(**SETTINGS["several jobs"])
    assert len(set(env.possible_agents)) == len(env.possible_agents) and "/" in env.possible_agents[0]
    observations, infos = env.reset(seed=0)
    assert set(observations) == set(infos) == set(env.possible_agents)
    for agent, seen in observations.items():
        assert seen in env.observation_space(agent) and seen.shape == (60, len(COLUMNS))
    assert env.state() in env.state_space and env.state().shape[1] == len(env.possible_agents)
    assert "/" not in StreamParallelEnv(**SMALL).possible_agents[0]


def test_the_same_seed_is_the_same_episode():
    one, other = StreamParallelEnv(**SMALL), StreamParallelEnv(**SMALL)
    play(other, 99)
    assert data_equivalence(play(one, 1), play(other, 1), exact=True)
    assert data_equivalence(one.reset(), other.reset(), exact=True)
    assert not data_equivalence(one.reset(seed=1), one.reset(), exact=True)


def test_what_makes_no_sense():
    env = StreamParallelEnv(**SMALL)
    with pytest.raises(ConfigError, match=r"call reset\(\)"):
        env.step({})
    env.reset(seed=0)
    with pytest.raises(InvalidDecision, match="no action of"):
        env.step({})
    with pytest.raises(InvalidDecision, match="expected 0 to"):
        env.step(dict.fromkeys(env.agents, 99))
    with pytest.raises(InvalidDecision, match="a whole number"):
        env.step(dict.fromkeys(env.agents, 0.5))
