"""Every learner on arms with a known best: stationary, and with a best that changes."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
import pytest

from dovetail.adaptation.learners import LEARNERS, Learner, best_arm
from dovetail.adaptation.learners.ucb import Ucb1

NAMES = [name.partition("/")[2] for name in LEARNERS.names() if name != "learner/random"]
CONTEXT = np.array([1.0])
NOISE = 0.05


def play(
    learner: Learner,
    means: Callable[[int], list[float]],
    rounds: int,
    seed: int,
    context: Callable[[int], np.ndarray] = lambda t: CONTEXT,
) -> tuple[float, list[int]]:
    """Regret, and the arms taken."""
    rng = np.random.default_rng(seed)
    learner.reset(len(means(0)), np.random.default_rng(seed + 1))
    regret, taken = 0.0, []
    for t in range(rounds):
        worth = means(t)
        arm = learner.select(context(t))
        regret += max(worth) - worth[arm]
        taken.append(arm)
        learner.update(arm, float(np.clip(rng.normal(worth[arm], NOISE), 0.0, 1.0)), context(t))
    return regret, taken


def make(name: str) -> Learner:
    learner: Learner = LEARNERS.create(f"learner/{name}")
    return learner


def mean_regret(name: str, means: Callable[[int], list[float]], rounds: int) -> float:
    return float(np.mean([play(make(name), means, rounds, seed)[0] for seed in range(10)]))


@pytest.mark.parametrize("name", NAMES)
def test_a_fixed_best_arm_is_found(name: str) -> None:
    def means(t: int) -> list[float]:
        return [0.4, 0.5, 0.65, 0.3]

    regret, floor = mean_regret(name, means, 300), mean_regret("random", means, 300)
    assert regret < (0.75 if name == "exp3" else 0.25) * floor  # exp3 goes on drawing a fifth at random


@pytest.mark.parametrize("name", ["discounted-ucb:gamma=0.95,explore=0.1", "sliding-ucb:window=40,explore=0.1"])
def test_those_that_forget_follow_a_change(name: str) -> None:
    """Where the best becomes the worst, UCB1 stays with its means for long."""

    def means(t: int) -> list[float]:
        return [0.7, 0.5, 0.4] if t < 300 else [0.2, 0.5, 0.4]

    assert mean_regret(name, means, 600) < 0.8 * mean_regret("ucb1:explore=0.1", means, 600)
    _, taken = play(make(name), means, 600, 0)
    assert np.bincount(taken[500:], minlength=3).argmax() == 1


def test_the_linear_one_knows_which_arm_suits_which_work() -> None:
    def context(t: int) -> np.ndarray:
        return np.array([float(t % 2), 1.0])

    def means(t: int) -> list[float]:
        return [0.4 + 0.3 * (t % 2), 0.7 - 0.3 * (t % 2)]

    linear, _ = play(make("linear"), means, 200, 0, context)
    blind, _ = play(make("thompson"), means, 200, 0, context)
    assert linear < 0.3 * blind
    learner = make("linear")
    play(learner, means, 200, 0, context)
    assert best_arm(learner.beliefs(np.array([0.0, 1.0]))) == 1
    assert best_arm(learner.beliefs(np.array([1.0, 1.0]))) == 0


def test_regret_of_ucb1_is_within_its_bound() -> None:
    """Auer et al. 2002, theorem 1: 8 sum ln n / gap + (1 + pi^2 / 3) sum gap, with the published width."""
    worth, rounds = [0.9, 0.6, 0.5], 2000
    gaps = [0.3, 0.4]
    bound = sum(8.0 * log(rounds) / gap for gap in gaps) + (1.0 + np.pi**2 / 3.0) * sum(gaps)
    regrets = [play(Ucb1(Ucb1.Params(explore=1.0)), lambda t: worth, rounds, seed)[0] for seed in range(10)]
    linear = rounds * float(np.mean([0.0, *gaps]))
    assert np.mean(regrets) < bound < linear


@pytest.mark.parametrize("name", NAMES)
def test_the_same_chance_gives_the_same_choices(name: str) -> None:
    first, again = (play(make(name), lambda t: [0.5, 0.52, 0.48], 50, 7)[1] for _ in range(2))
    assert first == again


@pytest.mark.parametrize("name", NAMES)
def test_beliefs_come_close_to_the_truth(name: str) -> None:
    learner = make(name)
    play(learner, lambda t: [0.4, 0.6], 400, 3)
    beliefs = learner.beliefs(CONTEXT)
    assert beliefs[1].mean == pytest.approx(0.6, abs=0.03)
    assert sum(belief.pulls for belief in beliefs) <= 400


@pytest.mark.parametrize("spec", ["ucb1:explore=-1", "sliding-ucb:window=0", "exp3:gamma=0", "thompson:noise=0"])
def test_bad_parameters_are_refused(spec: str) -> None:
    from dovetail.core.errors import ConfigError

    with pytest.raises(ConfigError, match="expected"):
        make(spec)


def test_the_sliding_window_forgets_within_a_run_by_default() -> None:
    """A class of work sees some 45 rewards: after so many, the window must have left some behind."""
    learner = LEARNERS.create("learner/sliding-ucb")
    learner.reset(2, np.random.default_rng(0))
    for reward in [0.2] * 20 + [0.8] * 25:
        learner.update(0, reward, np.zeros(0))
    belief = learner.beliefs(np.zeros(0))[0]
    assert belief.pulls < 45
    assert belief.mean > (20 * 0.2 + 25 * 0.8) / 45 + 0.05
