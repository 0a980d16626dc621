"""Rewards of an episode, against what comes of it by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.sim.gpu import GpuResult
from dovetail.training.das_recorder import Recorder
from dovetail.training.mappo_rewards import HOUR_S, costs, last_turn, least, published

SHAPE = DasShape(width=8, heads=2, hidden=8, rank=3, history=4)


def played(name: str) -> tuple[Recorder, GpuResult]:
    opened = GpuSetting(name, jobs=50, load=1.5).open()
    recorder = Recorder(DasForward(SHAPE, SHAPE.fresh(np.random.default_rng(0))))
    world = opened.world(opened.sequence(3), SeedTree(3))
    return recorder, opened.run(world, recorder, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["small", "small-mixed"])
def test_the_published_reward_is_what_it_says(name: str) -> None:
    recorder, result = played(name)
    jobs, info = result.workload, recorder.info
    found = published(0.01, recorder.ordered, recorder.placed, result, info)
    assert np.isfinite(found).all()
    start_of = {one.job_id: one.turn for one in recorder.placed}
    for number, turn in enumerate(recorder.ordered):
        total = 0.0
        for job in turn.job_id.tolist():
            if start_of[job] == number:
                speeds = [info.kind_speed[jobs.kind[job], t] for t in np.unique(info.machine_type)]
                prices = [info.type_price[t] for t in np.unique(info.machine_type)]
                time = result.completion_s[job] / (jobs.work_s[job] / max(speeds))
                usd_h = min(price / speed for price, speed in zip(prices, speeds, strict=True) if speed > 0)
                fee = jobs.work_s[job] / HOUR_S * jobs.workers[job] * jobs.gpus[job] * usd_h
                total += 1.0 / (time * (result.fee[job] / fee if fee > 0 else 1.0))
            else:
                waited_h = (turn.time_s - jobs.arrival_s[job]) / HOUR_S
                total -= 0.01 * waited_h * jobs.workers[job] * jobs.gpus[job]
        assert found[number] == pytest.approx(total / len(turn.job_id))


def test_no_job_does_better_than_the_least() -> None:
    recorder, result = played("small-mixed")
    time_s, fee = least(result, recorder.info)
    moods = 0.7  # machines may be faster than usual for a while
    assert (result.completion_s > moods * time_s).all() and (result.fee >= moods * fee).all()


def test_costs_add_up_to_what_the_episode_cost() -> None:
    recorder, result = played("small")
    turns = recorder.ordered
    found = costs(0.3, turns, recorder.placed, result, recorder.info)
    before_s = np.clip(turns[0].time_s - result.workload.arrival_s, 0.0, None).sum()
    time = (result.completion_s.sum() - before_s) / result.workload.work_s.mean()
    fee = 0.3 * result.fee.sum() / least(result, recorder.info)[1].mean()
    assert -found.sum() == pytest.approx(time + fee)


def test_a_job_that_starts_twice_counts_the_last_time() -> None:
    recorder, _ = played("small")
    first = recorder.placed[0]
    found = last_turn([first, first._replace(turn=7)], 50)
    assert found[first.job_id] == 7 and (np.delete(found, first.job_id) == -1).all()
