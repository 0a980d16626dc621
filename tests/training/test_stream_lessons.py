"""What autoscalers are taught: regret by hand, its gradient, and that being taught helps."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="learning needs torch: pip install 'dovetail[learn]'")

import torch

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import reward
from dovetail.evaluation.setting_stream import StreamSetting
from dovetail.schedulers.learned.stream.action import RANGE, TARGET
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.kinds import fresh_parameters
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.sim.stream import StreamOptions
from dovetail.training.stream_lessons import BEYOND, LEAST_DEMAND, MOST_REGRET, Lesson, change_of, regret, taught
from dovetail.training.stream_worker import own_reward

WORTHS = np.array([[[-3.0, 0.0, 0.2, 0.1], [0.25, 0.2, np.nan, np.nan]]], np.float32)  # one moment, two operators
LESSON = Lesson(
    graph=Graph(*[None] * 6),  # type: ignore[arg-type]
    features=np.zeros((1, 1, 2, 1), np.float32),
    worths=WORTHS,
    demand=np.ones((1, 2), np.float32),
    now=np.ones((1, 2), np.float32),
    change=np.zeros((1, 2), np.float32),
    most=np.array([4.0, 2.0], np.float32),
)
SETTING = StreamSetting(
    "nexmark-q2", duration_s=7200.0, interval_s=600.0, options=StreamOptions(history=10, noise=0.0, step_s=5.0)
)


def lost(*instances: float) -> float:
    """With so many instances wanted."""
    actions = torch.log(TARGET * torch.tensor([instances])) / RANGE
    return float(regret("demand", LESSON, np.array([0]), actions))


def test_regret_is_what_is_missing_to_the_best():
    assert lost(3.0, 1.0) == pytest.approx(0.0, abs=1e-5)
    assert lost(4.0, 2.0) == pytest.approx(0.1 + 0.05, abs=1e-5)
    assert lost(2.5, 1.0) == pytest.approx(0.1, abs=1e-5)  # half way between 0 and 0.2
    assert lost(9.0, 0.3) == pytest.approx(0.1, abs=1e-5)  # as many as it may have, and one at least


def test_changes_of_demand_are_those_until_the_next_decision():
    demand = np.array([[1.0, 2.0], [2.0, 2.0], [0.0, 4.0]]) - LEAST_DEMAND
    expected = [[np.log(2.0), 0.0], [np.log(LEAST_DEMAND / 2.0), np.log(2.0)], [0.0, 0.0]]
    np.testing.assert_allclose(change_of(np.maximum(demand, 0.0)), expected, rtol=1e-5, atol=1e-6)


def test_a_catastrophe_counts_little_more_than_a_disaster():
    assert lost(1.0, 1.0) == pytest.approx(MOST_REGRET + BEYOND * (3.2 - MOST_REGRET), abs=1e-4)


@pytest.mark.parametrize("action", ["demand", "relative", "published"])
def test_the_gradient_is_that_of_the_regret(action):
    actions = torch.tensor([[0.6, 0.3]], requires_grad=True)
    regret(action, LESSON, np.array([0]), actions).backward()
    for place in range(2):
        step = torch.zeros(1, 2)
        step[0, place] = 1e-3
        with torch.no_grad():
            ends = [regret(action, LESSON, np.array([0]), actions + sign * step) for sign in (1, -1)]
        assert float(ends[0] - ends[1]) / 2e-3 == pytest.approx(float(actions.grad[0, place]), abs=2e-3)


def test_a_lesson_has_a_row_for_each_decision():
    opened, shape = SETTING.open(), StreamShape(width=8, hidden=12, layers=1, snapshots=3)
    world = opened.world(opened.sequence(3), SeedTree(3))
    parameters = fresh_parameters("sure", shape, np.random.default_rng(0))
    lesson, mean_reward = taught("sure", shape, parameters, world, SeedTree(1))
    count = len(world.info.operator_job)
    assert lesson.features.shape[:3] == (11, 10, count) and lesson.worths.shape[:2] == (11, count)
    assert np.isfinite(lesson.worths[..., 0]).all() and (lesson.demand > 0.0).all()
    assert mean_reward == pytest.approx(float(world.result().reward.mean()))


def test_what_operators_add_makes_up_the_utilisation_of_the_job():
    opened = SETTING.open()
    world = opened.world(opened.sequence(3), SeedTree(3))
    view = world.advance()
    info, since = world.info, slice(-world.info.snapshots, None)
    late = view.op_latency_s[since].mean(axis=0)
    without = reward(late, np.full(len(late), info.job_slo_s[0]), np.zeros(len(late)), info.weight)
    job_utilisation = view.op_busy[since].mean()
    assert (own_reward(info, view) - without).sum() == pytest.approx((1.0 - info.weight) * job_utilisation)
