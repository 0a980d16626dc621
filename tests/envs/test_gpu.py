"""`Dovetail/Gpu-v0`: spaces, episodes, and that rewards are what the episode costs."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from tests.gpu_toys import CLUSTER, toy_model, toy_workload

from dovetail import SCHEDULERS, SeedTree
from dovetail.core.errors import ConfigError, DovetailError, InvalidDecision
from dovetail.envs import GpuEnv
from dovetail.envs.gpu_rewards import Cost, Das
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS
from dovetail.sim.gpu import GpuOptions, GpuWorld, run

SMALL = {"jobs": 15, "waiting": 8}
SETTINGS = {
    "small": SMALL,
    "at once, few shown": {"jobs": 15, "waiting": 3, "arrivals": "batch"},
    "room for more machines": {**SMALL, "max_machines": 11, "reward": "das"},
    "failures, several types": {
        **SMALL,
        "workload": "small-mixed",
        "options": GpuOptions(mean_time_to_failure_s=2e5, interval_s=60.0),
    },
}


def play(env, seed, choose=None, options=None):
    """The steps of an episode, the reset included; at random among what is valid unless told how to choose."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed, options=options)
    steps = [(observation, 0.0, False, False, info)]
    while not steps[-1][2]:
        valid = np.flatnonzero(steps[-1][0]["action_mask"])
        action = rng.choice(valid) if choose is None else choose(steps[-1][0], valid)
        steps.append(env.step(action))
    return steps


def first(observation, valid):
    """The first job that fits; ends the answer when there is none."""
    return valid[0]


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_gymnasium_finds_no_fault(setting):
    check_env(gymnasium.make("Dovetail/Gpu-v0", **setting).unwrapped)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_random_policy_ends_and_sees_what_the_space_says(setting):
    env = GpuEnv(**setting, invalid="raise")
    for seed in range(2):
        steps = play(env, seed)
        assert all(step[0] in env.observation_space for step in steps)
        assert [step[2] for step in steps[:-1]] == [False] * (len(steps) - 1)
        assert np.isfinite(env.result.finish_s).all() and env.result.decisions >= 15
        assert not any(part.any() for part in steps[-1][0].values())
        assert steps[-1][-1]["avg_jct_s"] == pytest.approx(env.result.completion_s.mean())


@pytest.mark.parametrize("choose", [None, first])
@pytest.mark.parametrize("prices", [{}, {"hour": 0.0, "usd": 1.0}, {"hour": 2.0, "usd": 0.5}])
def test_rewards_sum_to_what_the_episode_costs(choose, prices):
    cost = Cost(**prices)
    env = GpuEnv(**SMALL, reward=cost)
    for seed in range(2):
        total = sum(step[1] for step in play(env, seed, choose))
        result = env.result
        spent = cost.hour * result.completion_s.mean() / 3600 + cost.usd * result.fee.mean()
        assert total == pytest.approx(-spent, rel=1e-9) and total < 0


def test_the_same_seed_is_the_same_episode():
    one, other = GpuEnv(**SMALL), GpuEnv(**SMALL)
    play(other, 99)  # what was played before does not matter
    assert data_equivalence(play(one, 1), play(other, 1), exact=True)
    assert data_equivalence(one.reset(), other.reset(), exact=True)  # the next episode of that seed
    assert not data_equivalence(one.reset(seed=1), one.reset(), exact=True)
    assert not data_equivalence(GpuEnv(**SMALL).reset(), GpuEnv(**SMALL).reset(), exact=True)


@pytest.mark.parametrize("place", ["topology", "first-fit", "load-balance"])
@pytest.mark.parametrize("seed", range(2))
def test_the_first_that_fits_is_fifo(place, seed):
    """Seed k of the environment is seed k of a comparison; the place is that of the registry."""
    env = GpuEnv(jobs=40, waiting=40, place=place)
    play(env, seed, first)
    source = env.setting.source()
    workload = env.setting.sequence(source, source.cluster, SeedTree(seed))
    world = GpuWorld(workload, env.setting.speed_model(), GpuOptions(source.cluster), SeedTree(seed))
    expected = run(world, SCHEDULERS.create(f"gpu/fifo+{place}"), np.random.default_rng(0))
    assert env.result.finish_s.tolist() == expected.finish_s.tolist()
    assert env.result.fee.tolist() == expected.fee.tolist()


def test_an_answer_ends_when_the_agent_says_so_or_nothing_fits():
    """Of the toy's jobs, a and b are there at 0; nothing runs then, so one of them must be started."""
    env = GpuEnv(cluster=CLUSTER, options=GpuOptions(mood_sigma=0.0), speeds=toy_model(), waiting=4, place="first-fit")
    observation, info = env.reset(seed=0, options={"workload": toy_workload()})
    assert observation["action_mask"].tolist() == [1, 1, 0, 0, 0] and info["time_s"] == 0 and info["waiting"] == 2
    observation, reward, *_, info = env.step(1)  # b: both its workers on m0
    assert reward == 0 and info["started"] == 1 and observation["job_mask"].tolist() == [1, 0, 0, 0]
    assert observation["action_mask"].tolist() == [1, 0, 0, 0, 1]
    taken = MACHINE_COLUMNS.index("gpus free, of its own")
    assert observation["machines"][:, taken].tolist() == [0, 1]  # as it is with b on m0
    observation, reward, *_, info = env.step(4)  # a waits, until c arrives at 10
    assert info["time_s"] == 10 and info["started"] == 0 and info["running"] == 1
    b_fee = 10 / 3600 * 2 * 3.06
    assert reward == pytest.approx(-(20 / 3600 + 0.1 * b_fee) / 5)
    assert observation["action_mask"].tolist() == [1, 1, 0, 0, 1]
    again, reward, over, _, info = env.step(2)
    assert data_equivalence(again, observation, exact=True) and reward == -1 and not over
    assert info["invalid"] == "action 2 is not valid now; expected one of [0, 1, 4] (see `action_mask`)"


def test_an_invalid_action_can_be_an_error():
    env = GpuEnv(**SMALL, invalid="raise")
    env.reset(seed=0)
    for action in (-1, 7, 9):
        with pytest.raises(InvalidDecision, match=f"action {action} is not valid now"):
            env.step(action)


def test_jobs_that_fit_are_shown_before_others():
    env = GpuEnv(jobs=60, waiting=4, arrivals="batch")
    observation, info = env.reset(seed=0)
    assert info["waiting"] == 60 and observation["job_mask"].all()
    while observation["action_mask"][:4].any() and env.view.time_s == 0:
        observation, *_ = env.step(int(np.flatnonzero(observation["action_mask"])[0]))
        fits = JOB_COLUMNS.index("workers that fit now, of those it has")
        shown = observation["jobs"][: int(observation["job_mask"].sum()), fits]
        assert ((shown >= 1) == observation["action_mask"][: len(shown)].astype(bool)).all()
    assert env.view.time_s > 0


def test_the_published_reward():
    """a starts at its arrival on the fastest type, b on a T4, which is half as fast and cheaper."""
    env = GpuEnv(
        cluster=CLUSTER,
        options=GpuOptions(mood_sigma=0.0),
        speeds=toy_model(),
        place="first-fit",
        reward=Das(alpha=0.5),
    )
    env.reset(seed=0, options={"workload": toy_workload()})
    env.step(0)
    *_, reward, _, _, info = env.step(0)
    cheapest = min(3.06, 0.526 / 0.5)
    a, b = 1 / (3.06 / cheapest), 1 / (2 * (0.526 / 0.5) / cheapest)
    # c, which arrives at 10, and d, at 20, do not fit, and e is shown at 30.
    penalty = [-0.5 * 0 * 0.5, np.mean([-0.5 * 10 / 3600 * 0.5, 0])]
    assert info["time_s"] == 30 and reward == pytest.approx((a + b) / 2 + sum(penalty))


def test_several_of_them():
    envs = gymnasium.make_vec("Dovetail/Gpu-v0", num_envs=2, vectorization_mode="sync", **SMALL)
    observation, _ = envs.reset(seed=0)
    action = observation["action_mask"].argmax(axis=1)
    observation, reward, *_ = envs.step(action)
    assert observation["jobs"].shape == (2, 8, len(JOB_COLUMNS)) and reward.shape == (2,)
    envs.close()


def test_step_needs_an_episode():
    with pytest.raises(gymnasium.error.ResetNeeded):
        GpuEnv(**SMALL).step(0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"job": 3}, "no setting 'job'.*jobs"),
        ({"jobs": 0}, "jobs is 0; expected at least 1"),
        ({"invalid": "ignore"}, "expected penalise or raise"),
        ({"penalty": -1.0}, "penalty is -1.0; expected 0 or more"),
        ({"waiting": 0}, "waiting is 0; expected at least 1"),
        ({"max_machines": 7}, "max_machines is 7, but the cluster has 8 machines"),
        ({"place": "topologie"}, "did you mean 'place/topology'"),
        ({"reward": "dass"}, "unknown reward 'dass'; did you mean 'das'"),
        ({"arrivals": "sometimes"}, "unknown kind of arrivals 'sometimes'"),
        ({"cluster": "smal"}, "unknown cluster 'smal'"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(DovetailError, match=message):
        GpuEnv(**setting).reset(seed=0)


def test_rewards_that_make_no_sense():
    for make in (lambda: Cost(0.0, 0.0), lambda: Cost(hour=-1.0), lambda: Das(alpha=-1.0)):
        with pytest.raises(ConfigError, match="expected"):
            make()


def test_reset_options_that_make_no_sense():
    with pytest.raises(ConfigError, match=r"no option 'workloads'.*workload"):
        GpuEnv(**SMALL).reset(options={"workloads": None})
