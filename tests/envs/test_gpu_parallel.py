"""Two agents, `order` and `place`, that schedule gpu jobs together."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import parallel_api_test
from tests.gpu_toys import CLUSTER, toy_model, toy_workload

from dovetail import SCHEDULERS, SeedTree
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.envs import GpuParallelEnv
from dovetail.envs.gpu_rewards import Cost
from dovetail.features.gpu import PAIR_COLUMNS
from dovetail.sim.gpu import GpuOptions, GpuWorld, run

SMALL = {"jobs": 15, "waiting": 8}
SETTINGS = {
    "small": SMALL,
    "at once, few shown": {"jobs": 15, "waiting": 3, "arrivals": "batch"},
    "room for more machines": {**SMALL, "max_machines": 11, "reward": "das"},
    "failures": {**SMALL, "options": GpuOptions(mean_time_to_failure_s=2e5)},
}


def play(env, seed, choose=None, options=None):
    """What was seen and gained; at random unless told how to score."""
    rng = np.random.default_rng(seed)
    observations, infos = env.reset(seed=seed, options=options)
    steps = [(observations, {}, {}, {}, infos)]
    while env.agents:
        if choose is None:
            actions = {agent: rng.normal(size=env.action_space(agent).shape).astype(np.float32) for agent in env.agents}
        else:
            actions = choose(steps[-1][0])
        steps.append(env.step(actions))
    return steps


def fifo_first_fit(observations):
    rows, machines = observations["place"]["pair_mask"].shape
    return {"order": -np.arange(rows) / rows, "place": np.tile(-np.arange(machines) / machines, (rows, 1))}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_pettingzoo_finds_no_fault(setting):
    parallel_api_test(GpuParallelEnv(**setting), num_cycles=60)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_random_agents_end_and_see_what_the_spaces_say(setting):
    env = GpuParallelEnv(**setting)
    for seed in range(2):
        steps = play(env, seed)
        for observations, *_ in steps:
            assert all(observations[agent] in env.observation_space(agent) for agent in ("order", "place"))
        assert all(step[1]["order"] == step[1]["place"] for step in steps[1:])
        assert steps[-1][2] == {"order": True, "place": True} and env.agents == []
        assert np.isfinite(env.result.finish_s).all()


def test_rewards_sum_to_what_the_episode_costs():
    env = GpuParallelEnv(**SMALL, reward=Cost(2.0, 0.5))
    total = sum(step[1]["order"] for step in play(env, 3)[1:])
    assert total == pytest.approx(-(2.0 * env.result.completion_s.mean() / 3600 + 0.5 * env.result.fee.mean()))


def test_the_same_seed_is_the_same_episode():
    one, other = GpuParallelEnv(**SMALL), GpuParallelEnv(**SMALL)
    play(other, 99)
    assert data_equivalence(play(one, 1), play(other, 1), exact=True)
    assert data_equivalence(one.reset(), other.reset(), exact=True)  # the next episode of that seed
    assert not data_equivalence(one.reset(seed=1), one.reset(), exact=True)


@pytest.mark.parametrize("seed", range(2))
def test_priority_by_arrival_and_affinity_to_the_first_machines(seed):
    """FIFO and first-fit, said as scores."""
    env = GpuParallelEnv(jobs=40, waiting=40)
    play(env, seed, fifo_first_fit)
    source = env.setting.source()
    workload = env.setting.sequence(source, source.cluster, SeedTree(seed))
    world = GpuWorld(workload, env.setting.speed_model(), GpuOptions(source.cluster), SeedTree(seed))
    expected = run(world, SCHEDULERS.create("gpu/fifo+first-fit"), np.random.default_rng(0))
    assert env.result.finish_s.tolist() == expected.finish_s.tolist()


def test_both_agents_count():
    """The toy: b before a gets the V100s; an affinity to the other machine sends it there."""
    env = GpuParallelEnv(cluster=CLUSTER, options=GpuOptions(mood_sigma=0.0), speeds=toy_model(), waiting=2)
    for affinity, expected in (([1.0, 0.0], [200, 100]), ([0.0, 1.0], [100, 200])):
        observations, _ = env.reset(seed=0, options={"workload": toy_workload()})
        assert observations["order"]["possible"].tolist() == [1, 1]
        assert observations["place"]["pairs"].shape == (2, 2, len(PAIR_COLUMNS))
        assert observations["place"]["pair_mask"].tolist() == [[1, 1], [1, 1]]
        env.step({"order": np.array([0.0, 1.0]), "place": np.array([[0.0, 0.0], affinity])})
        while env.agents:
            env.step({"order": np.zeros(2), "place": np.zeros((2, 2))})
        assert env.result.finish_s[:2].tolist() == expected


def test_what_makes_no_sense():
    env = GpuParallelEnv(**SMALL)
    with pytest.raises(ConfigError, match=r"call reset\(\)"):
        env.step({})
    env.reset(seed=0)
    place = np.zeros(env.action_space("place").shape)
    with pytest.raises(InvalidDecision, match="no action of 'order'"):
        env.step({"place": place})
    with pytest.raises(InvalidDecision, match=r"action of 'order': expected finite numbers of shape \(8,\)"):
        env.step({"order": np.zeros(7), "place": place})
    with pytest.raises(InvalidDecision, match="finite numbers"):
        env.step({"order": np.full(8, np.nan), "place": place})
