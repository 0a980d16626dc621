"""The network proposes, look-ahead weighs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.schedulers.optimise.dag.test_rollout import Oracle

from dovetail.core.dag import Reason
from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.decima.decima_search import DecimaSearch
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.testing.dag_views import FOUR_SIZES, JobSketch, StageSketch, info_for, make_view, random_view
from dovetail.workloads import Arrivals, open_source

VIEW = make_view([JobSketch([StageSketch(tasks=90)]), JobSketch([StageSketch(tasks=40)])], offered=8)


def search(oracle: Oracle, **params: float) -> DecimaSearch:
    scheduler = DecimaSearch(DecimaSearch.Params(tries=12, **params))  # type: ignore[arg-type]
    scheduler.reset(replace(info_for(), look_ahead=oracle), np.random.default_rng(0))
    return scheduler


def test_the_likeliest_is_kept_unless_another_is_better_by_the_margin() -> None:
    likeliest = SCHEDULERS.create("dag/decima")
    likeliest.reset(info_for(), np.random.default_rng(0))
    expected = likeliest.decide(VIEW)[0]
    same = Oracle(lambda decision: 7.0)
    assert search(same).decide(VIEW) == (expected._replace(reason=Reason.LOOK_AHEAD_AGREES),)
    assert 2 <= len(same.asked[0]) <= 12 and len({*same.asked[0]}) == len(same.asked[0])
    better = Oracle(lambda decision: 0.0 if decision[:2] != expected[:2] else 4.0)
    assert search(better).decide(VIEW)[0].reason == Reason.LOOK_AHEAD_AGREES
    assert search(better, margin_s=3.0).decide(VIEW)[0].reason == Reason.LOOK_AHEAD


@pytest.mark.parametrize("own", [False, True])
def test_a_whole_run(own: bool) -> None:
    workload = open_source("tpch-like").sequence(2, Arrivals("batch"), SeedTree(1))
    scheduler = DecimaSearch(DecimaSearch.Params(own=own, tries=3, horizon_s=20.0))
    result = run(DagWorld(workload, DagOptions(executors=10), SeedTree(1)), scheduler, SeedTree(1).generator())
    assert np.isfinite(result.finish_s).all()


def test_it_needs_a_world_that_can_look_ahead_and_one_class() -> None:
    with pytest.raises(DovetailError, match="look ahead"):
        DecimaSearch().reset(info_for(), np.random.default_rng(0))
    oracle = Oracle(lambda decision: 1.0)
    scheduler = DecimaSearch()
    scheduler.reset(replace(info_for(FOUR_SIZES), look_ahead=oracle), np.random.default_rng(0))
    assert scheduler.kernel() is None
    for seed in range(5):
        scheduler.decide(random_view(np.random.default_rng(seed), FOUR_SIZES))
    assert not oracle.asked


@pytest.mark.parametrize("params", [{"tries": 1}, {"horizon_s": 0.0}, {"margin_s": -1.0}])
def test_parameters_are_checked(params: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        DecimaSearch.Params(**params)  # type: ignore[arg-type]
