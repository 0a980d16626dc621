"""`Dovetail/Stream-v0`: spaces, episodes, and that rewards are those of a comparison."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from tests.stream_toys import OPTIONS, toy_workload

from dovetail import SCHEDULERS, SeedTree
from dovetail.core.errors import ConfigError, DovetailError, InvalidDecision
from dovetail.core.stream import Reason
from dovetail.envs import StreamEnv
from dovetail.features.stream import COLUMNS
from dovetail.sim.stream import StreamOptions, StreamWorld, run
from dovetail.workloads.stream_jobs import jobs_of
from dovetail.workloads.stream_source import StreamSource, open_stream

SMALL = {"workload": "nexmark-q3", "duration_s": 6 * 3600.0}
SETTINGS = {
    "small": SMALL,
    "step": {**SMALL, "rates": "step", "interval_s": 1800.0},
    "several jobs": {**SMALL, "workload": "shared"},
    "a short history": {**SMALL, "options": StreamOptions(history=5, noise=0.0)},
}


def play(env, seed, choose=None, options=None):
    """The steps of an episode, the reset included; at random unless told how to choose."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed, options=options)
    steps = [(observation, 0.0, False, False, info)]
    while not steps[-1][2]:
        action = rng.integers(env.action_space.nvec) if choose is None else choose(env.view)
        steps.append(env.step(action))
    return steps


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_gymnasium_finds_no_fault(setting):
    check_env(gymnasium.make("Dovetail/Stream-v0", **setting).unwrapped)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_random_policy_ends_and_sees_what_the_space_says(setting):
    env = StreamEnv(**setting)
    steps = play(env, 2)
    assert all(step[0] in env.observation_space for step in steps)
    assert len(steps) - 1 == round(6 * 3600 / env._play.options.interval_s) - 1
    assert not steps[-1][0].any() and steps[-1][-1]["time_s"] == 6 * 3600.0
    assert env.view is None


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_mean_of_rewards_is_that_of_the_run(setting):
    env = StreamEnv(**setting)
    steps = play(env, 1)
    mean = np.mean([step[1] for step in steps[1:]])
    assert mean == pytest.approx(env.result.reward.mean()) == pytest.approx(steps[-1][-1]["reward"])
    assert steps[-1][-1]["rescales"] == env.result.rescaled.sum() > 0


def test_the_same_seed_is_the_same_episode():
    one, other = StreamEnv(**SMALL), StreamEnv(**SMALL)
    play(other, 99)  # what was played before does not matter
    assert data_equivalence(play(one, 1), play(other, 1), exact=True)
    assert data_equivalence(one.reset(), other.reset(), exact=True)  # the next episode of that seed
    assert not data_equivalence(one.reset(seed=1), one.reset(), exact=True)


def test_without_a_seed_it_draws_one():
    assert not data_equivalence(StreamEnv(**SMALL).reset(), StreamEnv(**SMALL).reset(), exact=True)


def test_an_agent_that_changes_nothing_is_the_fixed_one():
    """Seed k of the environment is seed k of a comparison."""
    env = StreamEnv(**SMALL)
    play(env, 4, lambda view: view.parallelism - 1)
    source = open_stream("nexmark-q3")
    world = StreamWorld(source.sequence(SMALL["duration_s"], SeedTree(4)), StreamOptions(), SeedTree(4))
    expected = run(world, SCHEDULERS.create("stream/fixed"), np.random.default_rng(0))
    assert env.result.latency_s.tolist() == expected.latency_s.tolist() and not env.result.rescaled.any()


def toy_env(**setting):
    source = open_stream("nexmark-q1")
    work = toy_workload()
    toy = StreamSource("toy", jobs_of(work), source.rates, 420.0, 60.0)
    return StreamEnv(workload=toy, options=OPTIONS, **setting), work


def test_a_workload_of_ones_own():
    env, work = toy_env()
    assert env.action_space.nvec.tolist() == [2, 4, 2, 2] and env.observation_space.shape == (12, 4, len(COLUMNS))
    steps = play(env, 0, lambda view: view.parallelism - 1, {"workload": work})
    assert len(steps) == 7 and env.result.busy[0, 1] == pytest.approx(0.8)
    assert env.info.operator_name == ("source", "<map>", "sink", "only")
    with pytest.raises(ConfigError, match=r"a workload of 4 operators .* this environment was made for"):
        StreamEnv(**SMALL).reset(options={"workload": work})


def test_more_than_there_are_slots_is_cut_and_said():
    env, work = toy_env()
    env.reset(seed=0, options={"workload": work})
    _, _, _, _, info = env.step(np.array([1, 3, 1, 1]))  # 10 instances, 8 slots
    assert info["cut"] == 2 and env.view.parallelism.sum() == 8
    _, _, _, _, info = env.step(env.view.parallelism - 1)
    assert info["cut"] == 0
    env, work = toy_env(over_slots="raise")
    env.reset(seed=0, options={"workload": work})
    with pytest.raises(InvalidDecision, match="10 instances; expected 8 in all, at most"):
        env.step(np.array([1, 3, 1, 1]))


def test_the_docs_say_how_many_features_there_are():
    text = (Path(__file__).parents[2] / "docs" / "environments.md").read_text(encoding="utf-8")
    assert re.findall(r"\(history, (?:operators, )?(\d+)\)", text) == [str(len(COLUMNS))] * 2


def test_decisions_say_who_took_them():
    env, work = toy_env()
    play(env, 0, lambda view: np.array([0, 1, 0, 0]), {"workload": work})
    assert {row.reason for row in env.result.decision_rows} == {Reason.OUTSIDE_AGENT}


def test_step_needs_an_episode_and_a_valid_action():
    env, work = toy_env()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(4, np.int64))
    env.reset(seed=0, options={"workload": work})
    halves, nobody = np.full(4, 0.5), np.array([0.0, np.nan, 0.0, np.inf])
    for wrong in (np.array([0, 4, 0, 0]), np.array([-1, 0, 0, 0]), np.zeros(3, np.int64), halves, nobody):
        with pytest.raises(InvalidDecision, match=r"expected whole numbers from 0 to \[1, 3, 1, 1\]"):
            env.step(wrong)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"intervals": 3}, "no setting 'intervals'.*interval_s"),
        ({"duration_s": 0.0}, "duration_s is 0.0; expected more than 0"),
        ({"over_slots": "ignore"}, "expected cut or raise"),
        ({"rates": "web", "workload": open_stream("nexmark-q1")}, "rates are given, but the workload is a source"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(DovetailError, match=message):
        StreamEnv(**setting)


def test_options_of_reset():
    with pytest.raises(ConfigError, match="reset has no option 'workloads'"):
        StreamEnv(**SMALL).reset(options={"workloads": None})
