"""Many worlds at once: the same as one by one."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from tests.envs.play import LAYERED, SETTINGS, SMALL, lengths

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.envs import DagEnv, DagVectorEnv
from dovetail.workloads import Arrivals, DagSource, open_source

BATCHABLE = {name: setting for name, setting in SETTINGS.items() if "max_stages" not in setting}


def choose(mask: np.ndarray, least_limit: np.ndarray, executors: int, rng: np.random.Generator) -> np.ndarray:
    stage = rng.choice(np.flatnonzero(mask))
    return np.array([stage, rng.integers(least_limit[stage], executors + 1)])


def actions_for(observation, executors, rngs):
    ptr = observation["stage_ptr"]
    return np.array(
        [
            choose(
                observation["stage_mask"][ptr[w] : ptr[w + 1]],
                observation["least_limit"][ptr[w] : ptr[w + 1]],
                executors,
                rng,
            )
            for w, rng in enumerate(rngs)
        ]
    )


def part(observation, w, num_jobs_before):
    """What world w sees, in the form of the single environment, without padding."""
    rows = slice(observation["stage_ptr"][w], observation["stage_ptr"][w + 1])
    links = observation["graph"].edge_links
    own = (links[:, 0] >= rows.start) & (links[:, 0] < rows.stop)
    return {
        "nodes": observation["graph"].nodes[rows],
        "edge_links": links[own] - rows.start,
        "stage_job": observation["stage_job"][rows] - num_jobs_before,
        "stage_mask": observation["stage_mask"][rows],
        "least_limit": observation["least_limit"][rows],
    }


def assert_same_view(many, w, one):
    mine = part(many, w, many["job_ptr"][w])
    shown = len(one["graph"].nodes)
    assert np.array_equal(mine["nodes"], one["graph"].nodes)
    assert np.array_equal(mine["edge_links"], one["graph"].edge_links)
    for name in ("stage_job", "stage_mask", "least_limit"):
        assert np.array_equal(mine[name], one[name][:shown]), name


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("setting", BATCHABLE.values(), ids=BATCHABLE)
def test_many_worlds_go_the_way_of_one(setting, threads):
    seeds = [3, 4, 5]
    many = DagVectorEnv(num_envs=3, threads=threads, **setting)
    ones = [DagEnv(**setting, invalid="raise") for _ in seeds]
    rngs = [np.random.default_rng(seed) for seed in seeds]
    observation, infos = many.reset(seed=3)
    singles = [env.reset(seed=seed) for env, seed in zip(ones, seeds, strict=True)]
    ends = 0
    for _ in range(150):
        for w, (single, info) in enumerate(singles):
            assert_same_view(observation, w, single)
            assert infos["time_s"][w] == info["time_s"]
        actions = actions_for(observation, many.num_executors, rngs)
        observation, rewards, terminations, truncations, infos = many.step(actions)
        for w, env in enumerate(ones):
            single, reward, terminated, truncated, info = env.step(actions[w])
            assert (rewards[w], terminations[w], truncations[w]) == (reward, terminated, truncated)
            if terminated or truncated:
                ends += 1
                final = {name: values[w] for name, values in infos["final_info"].items()}
                for name in ("cost", "jobs_completed", "jobs_left", "end_s", "decisions"):
                    assert final[name] == info[name], name
                assert final["avg_jct_s"] == pytest.approx(info["avg_jct_s"], nan_ok=True)
                assert infos["_final_info"][w] and infos["_final_obs"][w]
                assert infos["final_obs"][w] in many.single_observation_space
                single, info = env.reset()
            singles[w] = single, info
    assert ends > 3
    many.close()


@pytest.mark.parametrize("setting", BATCHABLE.values(), ids=BATCHABLE)
def test_observations_are_in_the_space_and_stay_as_they_were(setting):
    env = gymnasium.make_vec("Dovetail/Dag-v0", num_envs=3, **setting)
    rngs = [np.random.default_rng(w) for w in range(3)]
    observation, _ = env.reset(seed=0)
    for _ in range(25):
        assert observation in env.observation_space
        kept = {name: np.copy(value) for name, value in observation.items() if name != "graph"}
        nodes = observation["graph"].nodes.copy()
        actions = actions_for(observation, env.unwrapped.num_executors, rngs)
        assert actions in env.action_space
        later, *_ = env.step(actions)
        assert all(np.array_equal(kept[name], observation[name]) for name in kept)
        assert np.array_equal(nodes, observation["graph"].nodes)
        observation = later


def test_it_says_how_it_resets():
    env = gymnasium.make_vec("Dovetail/Dag-v0", num_envs=2, **SMALL)
    assert isinstance(env.unwrapped, DagVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.single_action_space == DagEnv(**SMALL).action_space
    assert env.single_observation_space == DagEnv(**SMALL).observation_space


def test_rewards_of_each_episode_sum_to_minus_its_cost():
    env = DagVectorEnv(num_envs=4, **{**SETTINGS["poisson"], "objective": "makespan"})
    rngs = [np.random.default_rng(w) for w in range(4)]
    observation, _ = env.reset(seed=0)
    rewards: list[list[float]] = [[] for _ in range(4)]
    ended = 0
    for _ in range(300):
        observation, reward, terminations, _, infos = env.step(actions_for(observation, env.num_executors, rngs))
        for w in range(4):
            rewards[w].append(reward[w])
            if terminations[w]:
                assert math.fsum(rewards[w]) == pytest.approx(-infos["final_info"]["cost"][w], rel=1e-12)
                assert infos["final_info"]["cost"][w] == pytest.approx(infos["final_info"]["end_s"][w])
                rewards[w] = []
                ended += 1
    assert ended > 8


def test_equal_seeds_give_equal_jobs():
    env = DagVectorEnv(num_envs=2, **SMALL)
    observation, _ = env.reset(seed=[7, 7])
    first, second = part(observation, 0, 0), part(observation, 1, observation["job_ptr"][1])
    assert all(np.array_equal(first[name], second[name]) for name in first)
    observation, _ = env.reset()  # both streams go on, still side by side
    assert np.diff(observation["stage_ptr"]).tolist() == [observation["stage_ptr"][1]] * 2


@pytest.mark.parametrize("action", [(99, 1), (-1, 1), (0, 0), (0, 6)])
def test_an_invalid_action_is_an_error_before_anything_moves(action):
    env, untouched = DagVectorEnv(num_envs=2, **SMALL), DagVectorEnv(num_envs=2, **SMALL)
    observation, _ = env.reset(seed=0)
    untouched.reset(seed=0)
    good = actions_for(observation, 5, [np.random.default_rng(w) for w in range(2)])
    bad = good.copy()
    bad[1] = action
    with pytest.raises(InvalidDecision, match=r"world 1: .* cannot be carried out"):
        env.step(bad)
    after, rewards, *_ = env.step(good)
    expected, expected_rewards, *_ = untouched.step(good)
    assert np.array_equal(rewards, expected_rewards)
    assert np.array_equal(after["graph"].nodes, expected["graph"].nodes)


def test_a_given_workload_is_played_in_all_worlds():
    source = open_source(LAYERED)
    env = DagVectorEnv(num_envs=2, **{**SMALL, "workload": source})
    workload = source.sequence(3, Arrivals(), SeedTree(5))
    observation, _ = env.reset(seed=0, options={"workload": workload})
    assert np.diff(observation["job_ptr"]).tolist() == [3, 3]
    other = lengths(1.0).sequence(2, Arrivals(), SeedTree(0))
    with pytest.raises(ConfigError, match="a catalogue of its own"):
        env.reset(options={"workload": other})
    DagVectorEnv(num_envs=1, **{**SMALL, "workload": DagSource("other", other.catalogue)}).reset(
        seed=0, options={"workload": other}
    )


def test_what_it_does_not_do():
    with pytest.raises(ConfigError, match="the vector environment shows every stage"):
        DagVectorEnv(num_envs=2, **SETTINGS["no room"])
    env = DagVectorEnv(num_envs=2, **SMALL)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros((2, 2), dtype=np.int64))
    with pytest.raises(ConfigError, match="3 seeds for 2 worlds"):
        env.reset(seed=[1, 2, 3])
