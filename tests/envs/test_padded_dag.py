"""`Dovetail/DagPadded-v0`: fixed size, one number as action, a mask."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from tests.envs.play import SETTINGS, SMALL

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.envs import DagEnv, PaddedDagEnv
from dovetail.envs.padded_dag import choose

FEW_SLOTS = {name: {**setting, "slots": 2} for name, setting in SETTINGS.items()}


def play(env, seed):
    rng = np.random.default_rng(seed)
    rows, info = env.reset(seed=seed)
    steps = [(rows, 0.0, False, False, info)]
    while not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(rng.choice(np.flatnonzero(env.action_masks()))))
    return steps


@pytest.mark.parametrize("setting", [SMALL, FEW_SLOTS["poisson"]], ids=["enough slots", "few slots"])
def test_gymnasium_finds_no_fault(setting):
    check_env(gymnasium.make("Dovetail/DagPadded-v0", **setting).unwrapped)


@pytest.mark.parametrize("setting", FEW_SLOTS.values(), ids=FEW_SLOTS)
def test_something_can_always_be_chosen_and_all_that_can_is_accepted(setting):
    env = PaddedDagEnv(**setting, invalid="raise")
    for seed in range(3):
        *steps, last = play(env, seed)
        for rows, *_, info in steps:
            assert rows in env.observation_space
            assert info["action_mask"].any()
            assert info["action_mask"].shape == (env.action_space.n,)
        assert last[0] in env.observation_space
        assert not last[-1]["action_mask"].any()
        assert last[-1]["decisions"] == len(steps)


def test_every_allowed_action_is_carried_out_and_no_other():
    env = PaddedDagEnv(**SMALL, slots=4, penalty=3.0)
    for action in range(env.action_space.n):
        rows, info = env.reset(seed=2)
        allowed = info["action_mask"][action]
        later, reward, *_, info = env.step(action)
        assert ("invalid" in info) == (not allowed)
        if not allowed:
            assert reward == -3.0
            assert np.array_equal(later, rows)


def test_same_seed_same_actions_same_trajectory():
    one, other = PaddedDagEnv(**SMALL), PaddedDagEnv(**SMALL)
    play(other, 99)
    assert data_equivalence(play(one, 1), play(other, 1), exact=True)


def test_rows_are_the_nodes_that_may_be_chosen():
    padded = PaddedDagEnv(**SMALL, features="decima-1")
    plain = DagEnv(**SMALL)
    rows, _ = padded.reset(seed=0)
    observation, info = plain.reset(seed=0)
    stages = np.flatnonzero(info["stage_mask"])
    assert rows.shape == (32, 6)
    assert rows[: len(stages), 0].tolist() == [1.0] * len(stages)
    assert np.array_equal(rows[: len(stages), 1:], observation["graph"].nodes[stages])
    assert not rows[len(stages) :].any()
    slot = len(stages) - 1
    level = len(padded.limits) - 1
    *_, told = padded.step(slot * len(padded.limits) + level)
    *_, expected = plain.step((stages[slot], plain.num_executors))
    assert told["time_s"] == expected["time_s"]
    assert np.array_equal(padded.dag.view.job_executors, plain.view.job_executors)


def test_too_many_choices_leave_one_of_each_job_first():
    mask = np.array([1, 1, 1, 0, 1, 1, 0, 1], dtype=np.int8)
    job = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    assert choose(mask, job, 8).tolist() == [0, 1, 2, 4, 5, 7]
    assert choose(mask, job, 5).tolist() == [0, 1, 4, 5, 7]
    assert choose(mask, job, 4).tolist() == [0, 1, 4, 7]
    assert choose(mask, job, 3).tolist() == [0, 4, 7]
    assert choose(mask, job, 2).tolist() == [0, 4]
    assert choose(mask, job, 1).tolist() == [0]


@pytest.mark.parametrize(
    ("executors", "limits"),
    [(1, [1]), (2, [1, 2]), (5, [1, 2, 4, 5]), (8, [1, 2, 4, 8]), (50, [1, 2, 4, 8, 16, 32, 50])],
)
def test_levels_double_up_to_the_whole_cluster(executors, limits):
    env = PaddedDagEnv(**{**SMALL, "executors": executors})
    assert env.limits.tolist() == limits
    assert env.action_space.n == 32 * len(limits)


@pytest.mark.parametrize("limits", [[], [1, 2], [0, 5], [3, 3, 5], [5, 1], [1, 6]])
def test_levels_that_make_no_sense(limits):
    with pytest.raises(ConfigError, match="that end with the whole cluster, 5"):
        PaddedDagEnv(**SMALL, limits=limits)


def test_an_empty_slot_can_be_an_error():
    env = PaddedDagEnv(**SMALL, invalid="raise")
    env.reset(seed=0)
    with pytest.raises(InvalidDecision, match=r"slot 31 is empty: \d+ of 32 are filled"):
        env.step(31 * len(env.limits))
    with pytest.raises(ConfigError, match="slots is 0"):
        PaddedDagEnv(**SMALL, slots=0)


def test_gymnasium_can_stack_it():
    env = gymnasium.make_vec("Dovetail/DagPadded-v0", num_envs=2, **SMALL)
    rows, infos = env.reset(seed=0)
    for _ in range(40):
        assert rows in env.observation_space
        rows, *_, infos = env.step(infos["action_mask"].argmax(axis=1))
