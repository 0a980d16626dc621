"""Worlds that part at one decision part there and not before, in the way that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.sim.gpu import GpuResult, GpuScheduler
from dovetail.training.das_recorder import Recorder
from dovetail.training.forks import ORDER, PLACE, START, Fork, draw_forks, nudge_of, possible_forks, worth

SETTING = GpuSetting("small", jobs=60, load=1.5).open()
NETWORK = DasForward(SHAPE := DasShape(width=8, heads=2, hidden=8, rank=3), SHAPE.fresh(np.random.default_rng(0)))
NOISE = (2.0, 2.0, 2.0)


def played(scheduler: GpuScheduler) -> GpuResult:
    return SETTING.run(SETTING.world(SETTING.sequence(3), SeedTree(3)), scheduler, np.random.default_rng(0))


def recorded() -> tuple[Recorder, GpuResult, list[Fork]]:
    recorder = Recorder(NETWORK)
    result = played(recorder)
    return recorder, result, possible_forks(recorder, result.start_s, NOISE, np.random.default_rng(1))


def test_before_a_fork_nothing_changes_and_there_it_is_decided_otherwise() -> None:
    recorder, result, forks = recorded()
    assert {fork.agent for fork in forks} == {START, ORDER, PLACE}
    moved = dict.fromkeys((START, ORDER, PLACE), 0)
    chosen = [fork for agent in moved for fork in [each for each in forks if each.agent == agent][:8]]
    for fork in chosen:
        other = played(Das(network=NETWORK, nudge=nudge_of(fork, 60, recorder.machines)))
        before = result.start_s < fork.at_s - 1e-6
        assert np.array_equal(other.start_s[before], result.start_s[before])
        if fork.agent == START and fork.lean >= 0.0:
            assert other.start_s[fork.job_id] > fork.at_s
        if fork.agent == START and fork.lean < 0.0:
            assert other.start_s[fork.job_id] == pytest.approx(fork.at_s)
        moved[fork.agent] += not np.array_equal(other.finish_s, result.finish_s)
    assert all(moved.values())


def test_close_decisions_are_drawn_and_each_once() -> None:
    _, _, forks = recorded()
    drawn = draw_forks(forks, NOISE, 30, np.random.default_rng(0))
    assert 20 <= len(drawn) == len(set(drawn)) <= 30
    assert all(abs(fork.lean) < 4 * 2.0 for fork in drawn)


def test_the_worth_of_a_decision_is_what_those_saved_that_were_there_and_later_ones_less() -> None:
    fork = Fork(START, 0, 0, -1, -1.0, 1, -1, 1.0, at_s=10.0)
    arrival_s, finish_s = np.array([0.0, 10.0, 20.0]), np.array([5.0, 100.0, 30.0])
    for who, counts in ((0, 0.0), (1, 1.0), (2, np.exp(-1.0))):  # the first was gone
        saved = np.eye(3)[who]
        assert worth(fork, saved, arrival_s, finish_s, 10.0) == pytest.approx(counts)
        assert worth(fork._replace(lean=1.0), saved, arrival_s, finish_s, 10.0) == pytest.approx(-counts)
