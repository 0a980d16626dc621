"""Worlds in a batch go exactly as they would alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.sim.stream_toys import chain

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision, StreamView
from dovetail.sim.stream import StreamBatch, StreamOptions, StreamWorld
from dovetail.workloads.stream import StreamWorkload

OPTIONS = StreamOptions(interval_s=60.0, snapshot_s=10.0, history=9)


def several(count: int = 5) -> list[StreamWorkload]:
    rng = np.random.default_rng(0)
    limits = {"op_max": np.full(3, 8), "slots": 20}
    return [
        replace(
            chain([0.01, 0.02, 0.005], rng.uniform(20, 300, size=8), parallelism=2, op_buffer=50.0, **limits),
            op_service_s=rng.uniform(0.001, 0.02, size=3),
            clock_s=1000.0 * i,
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("threads", [1, 3])
def test_each_goes_as_it_would_alone(threads: int) -> None:
    workloads, rng = several(), np.random.default_rng(1)
    seeds = [SeedTree(seed) for seed in range(len(workloads))]
    batch = StreamBatch(workloads, OPTIONS, seeds, threads=threads)
    worlds = [StreamWorld(workload, OPTIONS, tree) for workload, tree in zip(workloads, seeds, strict=True)]
    while (view := batch.advance()) is not None:
        assert batch.advance() is view
        for w, world in enumerate(worlds):
            alone = world.advance()
            assert alone is not None
            for name, ours, theirs in zip(StreamView._fields, view, alone, strict=True):
                one = ours if name == "time_s" else ours[w]
                np.testing.assert_array_equal(one, theirs, err_msg=name)
        wanted = np.where(rng.random((5, 3)) < 0.2, rng.integers(1, 7, size=(5, 3)), view.parallelism)
        for w, world in enumerate(worlds):
            world.apply([StreamDecision(i, int(wanted[w, i]), Reason.LEARNED) for i in range(3)])
        batch.apply(wanted, Reason.LEARNED)
    results = batch.results()
    for world, theirs in zip(worlds, results, strict=True):
        world.advance()
        ours = world.result()
        for name in ("latency_s", "reward", "busy", "blocked", "queued", "delay_weight", "rescaled", "parallelism"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
        assert [row[:5] for row in ours.decision_rows] == [row[:5] for row in theirs.decision_rows]
    rewards, latency_s, utilisation = batch.last_interval()
    np.testing.assert_array_equal(rewards, [result.reward[-1] for result in results])
    np.testing.assert_array_equal(latency_s, [result.latency_s[-1] for result in results])
    np.testing.assert_array_equal(utilisation, [result.utilisation[-1] for result in results])
    batch.close()


def test_what_is_refused() -> None:
    batch = StreamBatch(several(2), OPTIONS, [SeedTree(0), SeedTree(1)])
    with pytest.raises(InvalidDecision, match="nothing to decide"):
        batch.apply(np.ones((2, 3), np.int64))
    with pytest.raises(ConfigError, match="first only measures"):
        batch.last_interval()
    batch.advance()
    for wanted, text in (
        (np.ones((2, 3)), "given float64"),
        (np.ones((1, 3), np.int64), r"of the shape \(1, 3\); expected whole numbers of the shape \(2, 3\)"),
        (
            np.array([[1, 1, 1], [1, 9, 1]]),
            r"world 1: operator 1 \('op-1' .*parallelism 9; expected 1 to 8",
        ),
        (np.array([[1, 1, 1], [8, 8, 8]]), "world 1: 24 instances in all, 6 before, but there are 20 slots"),
    ):
        with pytest.raises(InvalidDecision, match=text):
            batch.apply(wanted)
    view = batch.advance()
    assert view is not None and np.all(view.parallelism == 2)


def test_worlds_of_another_shape() -> None:
    one = several(1)[0]
    for other in (replace(one, slots=30), chain([0.01, 0.02, 0.005], 10.0, minutes=9), chain([0.01], 10.0, minutes=8)):
        with pytest.raises(ConfigError, match="workload 1 has another shape"):
            StreamBatch([one, other], OPTIONS, [SeedTree(0), SeedTree(1)])
    with pytest.raises(ConfigError, match="1 workloads and 2 seeds"):
        StreamBatch([one], OPTIONS, [SeedTree(0), SeedTree(1)])
