"""What actions mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dovetail.core.stream import Reason
from dovetail.features.stream_memory import RateMemory
from dovetail.schedulers.learned.stream.action import BURST_TARGET, RANGE, TARGET, Actuator, instances

from .conftest import make_view


def wanted(action, now, demand, value):
    return int(instances(action, np.array([now]), np.array([demand]), np.array([float(value)]))[0])


def test_demand_is_divided_by_a_target_that_the_action_moves():
    assert wanted("demand", 1, 3.5, 0.0) == 9  # 3.5 / 0.4
    assert wanted("demand", 1, 3.5, 1.0) == 22  # 3.5 / 0.163
    assert wanted("demand", 9, 3.5, -1.0) == 4
    assert wanted("demand", 2, 0.0, 0.0) == 0


def test_what_is_nearly_right_stays():
    assert wanted("demand", 5, 2.2, 0.0) == 5  # 5.5
    assert wanted("demand", 5, 2.3, 0.0) == 6  # 5.75


@pytest.mark.parametrize(("action", "after"), [("relative", 2), ("published", 1)])
def test_the_published_action_hardly_leaves_one(action, after):
    assert wanted(action, 1, 0.0, 0.7) == after
    assert wanted(action, 4, 0.0, 0.0) == 4
    assert wanted(action, 4, 0.0, -1.0) < 4


def test_decisions_are_within_the_limits_and_only_changes(info):
    view = make_view(info, 5)
    actuator = Actuator(info, "demand", RateMemory(info))
    demand = actuator.demand(view)
    np.testing.assert_allclose(demand, 0.01 * (view.op_rate.mean(axis=0) + view.op_queued[-1] / info.interval_s))
    actions = np.full(7, 5.0, np.float32)  # beyond 1, which is the most
    found = actuator.decisions(view, demand, actions, Reason.LEARNED)
    assert {each.operator for each in found} == set(range(7)) and {each.reason for each in found} == {Reason.LEARNED}
    tight = Actuator(replace(info, slots=16), "demand", RateMemory(info)).decisions(
        view, demand, actions, Reason.LEARNED
    )
    after = view.parallelism.copy()
    for each in tight:
        after[each.operator] = each.parallelism
    assert after.sum() == 16 and all(each.reason == Reason.OVER_BUDGET for each in tight)
    calm = np.log(2.0 / (demand / TARGET)) / RANGE  # just what there is
    assert actuator.decisions(view, demand, calm.astype(np.float32), Reason.LEARNED) == []


def test_bursts_ask_for_more_as_the_last_day_did(info):
    """A peak in every fourth minute: so it may be in the coming hour, too."""
    view = make_view(info, 5)
    rough = np.where(np.arange(len(view.job_rate)) % 4 == 0, 2.0, 2.0 / 3.0)[:, None]
    view = view._replace(job_rate=np.broadcast_to(100.0 * rough, view.job_rate.shape))
    plain, rule = (Actuator(info, action, RateMemory(info)).demand(view) for action in ("demand", "bursts"))
    np.testing.assert_allclose(rule / TARGET, 2.0 / rough.mean() * plain / BURST_TARGET)
    assert wanted("bursts", 1, 3.5, 0.5) == wanted("demand", 1, 3.5, 0.5)
