"""Schedulers of streaming jobs in the simulator: how they answer to a step in the rate, and that they come to rest."""

from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from tests.sim.stream_toys import chain

from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.stream import StreamOptions, StreamWorld, run
from dovetail.testing.conformance_stream import check_settles
from dovetail.workloads.stream_source import open_stream

OFTEN = StreamOptions(interval_s=300.0, noise=0.0)
STEP = chain(
    [0.01, 0.04, 0.02],
    [20.0] * 30 + [95.0] * 90,
    parallelism=[1, 1, 1],
    op_selectivity=[1.0, 0.5, 1.0],
    op_max=np.full(3, 20),
    op_buffer=100.0,
)
"""20 records a second, then 95: 0.95, 3.8 and 0.95 instances are busy with those."""


def play(name: str, workload=STEP, options=OFTEN):
    return run(StreamWorld(workload, options, SeedTree(0)), SCHEDULERS.create(name), np.random.default_rng(0))


def test_ds2_is_right_after_one_interval_of_the_new_rate():
    """The first decision after the step falls on its end: one interval is measured, and then all is as it should be."""
    found = play("stream/ds2")
    step = int(30 * 60 / OFTEN.interval_s) - 1
    assert found.parallelism[step].tolist() == [1, 1, 1]
    assert (found.parallelism[step + 1 :] == [1, 4, 1]).all()
    assert int(found.rescaled.sum()) == 1


def test_hpa_comes_to_its_target_in_a_few_steps():
    found = play("stream/hpa")
    assert (found.parallelism[-6:] == found.parallelism[-1]).all()
    assert found.parallelism[-1, 1] in (5, 6)  # 3.8 / 0.8 = 4.75
    assert 1 < int(found.rescaled.sum()) <= 12


def test_flink_works_off_what_piled_up_and_then_has_its_utilisation():
    found = play("stream/flink")
    assert found.lag[-1, 0] < 100.0
    assert 0.4 <= found.busy[-1, 1] <= 1.0
    assert found.latency_s[-1, 0] < 1.0


def test_dhalion_finds_the_operator_that_holds_up_the_source():
    """It was held up for three quarters of its time: four times as many, and nothing for what has piled up."""
    found = play("stream/dhalion")
    assert [(row.operator, row.after) for row in found.decision_rows] == [(1, 4)]
    assert (np.diff(found.lag[6:, 0]) < 0.0).all()


@pytest.mark.parametrize("name", ["ds2", "flink", "hpa", "quantile", "static", "oracle"])
@pytest.mark.parametrize("interval_s", [3600.0, 60.0])
def test_no_flapping_at_a_rate_that_does_not_change(name: str, interval_s: float):
    check_settles(lambda: SCHEDULERS.create(f"stream/{name}"), interval_s=interval_s)


@pytest.mark.parametrize("name", ["fixed:parallelism=3", "hpa", "ds2", "flink", "dhalion", "quantile", "random"])
def test_slots_are_kept_and_only_changes_are_named(name: str):
    workload = open_stream("shared").sequence(6 * 3600.0, SeedTree(3))
    workload = replace(workload, slots=int(workload.op_start.sum()) + 2)
    world = StreamWorld(workload, StreamOptions(interval_s=600.0), SeedTree(3))
    scheduler = SCHEDULERS.create(f"stream/{name}")
    scheduler.reset(world.info_for(scheduler), np.random.default_rng(0))
    while (view := world.advance()) is not None:
        decisions = scheduler.decide(view)
        assert all(one.parallelism != view.parallelism[one.operator] for one in decisions)
        world.apply(decisions)
    assert (world.result().parallelism.sum(axis=1) <= workload.slots).all()


@pytest.mark.parametrize("name", ["hpa", "ds2", "flink", "dhalion", "quantile"])
def test_a_decision_takes_no_time_to_speak_of(name: str):
    """Of 38 operators: the fastest of some, well below a millisecond on an idle machine."""
    world = StreamWorld(open_stream("large-2").sequence(7200.0, SeedTree(0)), StreamOptions(), SeedTree(0))
    scheduler = SCHEDULERS.create(f"stream/{name}")
    scheduler.reset(world.info, np.random.default_rng(0))
    view = world.advance()
    times = []
    for _ in range(20):
        start = perf_counter()
        scheduler.decide(view)
        times.append(perf_counter() - start)
    assert min(times) < 0.002
