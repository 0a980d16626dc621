"""stream/static and stream/oracle, which are told the future."""

from dataclasses import replace

import numpy as np
import pytest
from tests.schedulers.stream_views import info_of
from tests.sim.stream_toys import chain

from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.heuristic.stream.fixed import Fixed
from dovetail.schedulers.optimise.stream.oracle import Oracle
from dovetail.schedulers.optimise.stream.static import Static
from dovetail.sim.stream import StreamOptions, StreamWorld, run
from dovetail.workloads.stream_source import open_stream

HOURLY = StreamOptions(noise=0.0)


def play(scheduler, workload, options=HOURLY):
    return run(StreamWorld(workload, options, SeedTree(0)), scheduler, np.random.default_rng(0))


class Switch:
    """Another parallelism from some time on."""

    def __init__(self, time_s: float, parallelism: list[int]) -> None:
        self.time_s, self.parallelism = time_s, parallelism

    def reset(self, info, rng) -> None: ...

    def decide(self, view):
        return [StreamDecision(*pair) for pair in enumerate(self.parallelism)] if view.time_s == self.time_s else []


@pytest.mark.parametrize("kind", [Static, Oracle])
def test_it_must_be_told(kind):
    with pytest.raises(DovetailError, match="tells the future"):
        kind().reset(info_of("source"), np.random.default_rng(0))


def test_static_is_as_good_as_the_best_of_all_fixed_ones():
    workload = chain([0.02, 0.05], [20.0, 60.0] * 120, parallelism=4, op_max=np.full(2, 8), slots=16)
    found = play(Static(), workload)
    assert int(found.rescaled.sum()) <= 1
    assert {row.reason for row in found.decision_rows} <= {Reason.BEST_FIXED}
    rewards = {
        (a, b): float(play(Fixed(), replace(workload, op_start=np.array([a, b]))).reward[1:].mean())
        for a in range(1, 5)
        for b in range(2, 7)
    }
    assert rewards[tuple(found.parallelism[-1].tolist())] == pytest.approx(max(rewards.values()), abs=1e-3)


def test_the_oracle_scales_before_the_load_comes_and_not_for_nothing():
    """Ten times as much from the fifth hour on: it has what that needs when the hour begins."""
    hours = [10.0] * 240 + [100.0] * 240
    workload = chain([0.01, 0.05], hours, parallelism=1, op_max=np.full(2, 10), slots=20)
    found = play(Oracle(), workload)
    assert found.parallelism[:, 1].tolist() == [1, 1, 1, 6, 6, 6, 6]
    assert int(found.rescaled.sum()) == 1
    for start in (0, 1, 2, 4):
        other = play(Switch(start * 3600.0 + 3600.0, found.parallelism[-1].tolist()), workload)
        assert other.reward.mean() < found.reward.mean()
    assert {row.reason for row in found.decision_rows} == {Reason.KNOWN_FUTURE}
    assert found.latency_s.max() < 0.3


def test_a_restart_that_costs_more_than_it_brings_is_not_made():
    """A quarter of an hour of restart for half an hour of a few more instances busy."""
    hours = [40.0] * 120 + [30.0] * 60 + [40.0] * 120
    workload = chain(
        [0.01, 0.05], hours, parallelism=3, op_max=np.full(2, 10), slots=20, job_restart_s=np.array([900.0])
    )
    assert not play(Oracle(), replace(workload, op_start=np.array([1, 3]))).rescaled.any()


@pytest.mark.parametrize("interval_s", [3600.0, 300.0])
def test_the_oracle_is_at_least_as_good_as_all_others(interval_s: float):
    source = open_stream("small-1")
    workload = source.sequence(30 * 3600.0, SeedTree(1))
    options = StreamOptions(interval_s=interval_s)
    others = ["fixed", "fixed:parallelism=8", "hpa", "hpa:target=0.5", "ds2", "ds2:utilisation=0.5", "flink", "dhalion"]
    others += ["static", "random", "flink:utilisation=0.5,boundary=0.2"]
    best = max(float(play(SCHEDULERS.create(f"stream/{one}"), workload, options).reward.mean()) for one in others)
    assert float(play(Oracle(), workload, options).reward.mean()) > best


def test_the_oracle_is_no_worse_than_the_best_fixed_plan_where_a_job_cannot_keep_up():
    """Many operators, all of them short for hours: it must not strengthen those that others hold up."""
    drawn = open_stream("medium-2", "web").sequence(36 * 3600.0, SeedTree(1))
    workload = replace(drawn, rate=2.5 * drawn.rate)
    options = StreamOptions(step_s=10.0)
    best, fixed = (float(play(kind(), workload, options).reward.mean()) for kind in (Oracle, Static))
    assert fixed < -5.0  # it cannot keep up
    assert best > fixed - 0.01


def test_jobs_that_share_slots_stay_within_them():
    workload = open_stream("shared").sequence(12 * 3600.0, SeedTree(2))
    found = play(Oracle(), workload)
    assert (found.parallelism.sum(axis=1) <= workload.slots).all()
    assert float(found.reward.mean()) > float(play(Fixed(), workload).reward.mean())


@pytest.mark.parametrize("wrong", [{"windows": 3}, {"windows": 0}, {"window_s": 0.0}, {"noise": -1.0}])
def test_parameters_have_ranges(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        Oracle.Params(**wrong)
