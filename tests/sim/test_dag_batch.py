"""Worlds in a batch do exactly what they would do alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dovetail.core.dag import DagDecision, DagView
from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagResult, DagWorld
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source

SOURCE = open_source("tpch-like")
OPTIONS = DagOptions(executors=7)


def episodes(number: int) -> Iterator[Episode]:
    for k in range(number):
        seeds = SeedTree(k)
        arrivals = Arrivals("poisson", interval_s=8.0) if k % 2 else Arrivals()
        yield Episode(SOURCE.sequence(2 + k % 3, arrivals, seeds.child("workload")), seeds, tag=k)


def choose(view: DagView) -> DagDecision:
    """A rule that depends on the whole view, so that any difference between views shows."""
    valid = np.flatnonzero(view.stage_valid)
    stage = int(valid[int(view.stage_left.sum() + view.time_s * 1000) % len(valid)])
    more = 1 + int(view.job_executors.sum()) % view.source_executors
    return DagDecision(stage, int(view.job_executors[view.stage_job[stage]]) + more)


def alone(episode: Episode) -> DagResult:
    world = DagWorld(episode.workload, OPTIONS, episode.seeds)
    while (view := world.advance()) is not None:
        world.apply([choose(view)])
    return world.result()


@pytest.mark.parametrize("threads", [1, 3])
def test_same_as_alone(threads: int) -> None:
    batch = DagBatch(SOURCE.catalogue, OPTIONS, episodes(11), 4, threads=threads)
    view, ended = batch.start()
    finished = list(ended)
    while view.active.any():
        stage = np.full(4, -1)
        limit = np.zeros(4, dtype=np.int64)
        for w in np.flatnonzero(view.active):
            stage[w], limit[w], _, _ = choose(view.world(w))
        view, ended = batch.step(stage, limit)
        finished += ended
    batch.close()
    assert sorted(done.episode.tag for done in finished) == list(range(11))
    for done in finished:
        expected = alone(done.episode)
        np.testing.assert_array_equal(done.result.finish_s, expected.finish_s)
        assert done.result.decisions == expected.decisions
        assert done.result.costs == expected.costs


def test_views_and_costs() -> None:
    batch = DagBatch(SOURCE.catalogue, OPTIONS, episodes(3), 3)
    view, _ = batch.start()
    assert view.active.all()
    assert view.job_ptr[-1] == sum(len(view.world(w).job_id) for w in range(3))
    for w in range(3):
        one = view.world(w)
        assert one.stage_valid.any()
        assert one.source_executors == 7
        assert one.job_stage_ptr[0] == 0
        assert one.job_stage_ptr[-1] == len(one.stage_id)
        assert not one.stage_left.flags.writeable
    assert view.costs.shape == (3, 5)
    assert (view.costs[:, 1] == 0).all()


def test_a_refused_decision_names_the_world() -> None:
    batch = DagBatch(SOURCE.catalogue, OPTIONS, episodes(3), 3)
    view, _ = batch.start()
    stage = np.array([choose(view.world(w)).stage for w in range(3)])
    with pytest.raises(InvalidDecision, match="world 1"):
        batch.step(stage, np.array([1, 0, 1]))


def test_empty_when_episodes_run_out() -> None:
    batch = DagBatch(SOURCE.catalogue, OPTIONS, episodes(1), 3)
    view, _ = batch.start()
    assert view.active.tolist() == [True, False, False]
