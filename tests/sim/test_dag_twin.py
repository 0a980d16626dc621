"""The compiled world and its plain-Python twin go through the same trajectory, whatever is thrown at them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.test_dag_reference_invariants import FAULTS, SOUND, with_faults, workloads

from dovetail.core.dag import DagDecision, DagView
from dovetail.core.errors import StalledWorld
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import Compat, DagOptions, DagWorld
from dovetail.testing import ReferenceDagWorld
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import open_source


def any_decision(view: DagView, rng: np.random.Generator, decline: float) -> list[DagDecision]:
    if rng.random() < decline:
        return []
    stage = int(rng.choice(np.flatnonzero(view.stage_valid)))
    held = int(view.job_executors[view.stage_job[stage]])
    return [DagDecision(stage, held + int(rng.integers(1, view.source_executors + 1)))]


def assert_same_view(fast: DagView, slow: DagView) -> None:
    for name, ours, theirs in zip(DagView._fields, fast, slow, strict=True):
        if name in ("job_work_s", "job_work_left_s", "stage_critical_path_s"):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def assert_same_trajectory(workload: DagWorkload, options: DagOptions, seed: int, decline: float) -> None:
    seeds = SeedTree(seed)
    fast = DagWorld(workload, options, seeds, record=True)
    slow = ReferenceDagWorld(workload, options, seeds.child("durations").key(), seeds.child("failures").key())
    rng = np.random.default_rng(seed)
    while True:
        try:
            theirs = slow.advance()
        except StalledWorld:
            theirs = None
            try:
                assert fast.advance() is None, "the twin is stalled, the world is not"
            except StalledWorld:
                return
        ours = fast.advance()
        if theirs is None or ours is None:
            assert (theirs is None) == (ours is None)
            break
        assert_same_view(ours, theirs)
        decisions = any_decision(ours, rng, decline)
        slow.apply(decisions)
        try:
            fast.apply(decisions)
        except StalledWorld:
            decline = 1.0
            try:
                slow.advance()
            except StalledWorld:
                return
            raise AssertionError("the world is stalled, the twin is not") from None
    result = fast.result()
    assert [tuple(row) for row in result.tasks.tolist()] == slow.task_log
    columns = ("time_s", "source_job", "source_stage", "on_offer", "job", "stage", "limit", "given")
    log = result.decision_log
    ours_log = list(zip(*(log[name].tolist() for name in columns), strict=True))
    assert ours_log == [row[:8] for row in slow.decision_log]
    assert result.events == slow.events
    np.testing.assert_array_equal(result.finish_s, slow.finish_s)
    for name, cost in result.costs.items():
        np.testing.assert_allclose(cost, slow.costs[name], rtol=1e-9, atol=1e-9, err_msg=name)


@given(workloads(), SOUND, st.integers(0, 2**32), st.sampled_from([0.0, 0.0, 0.2]))
@settings(max_examples=150, deadline=None)
def test_same_trajectory(workload: DagWorkload, options: DagOptions, seed: int, decline: float) -> None:
    assert_same_trajectory(workload, options, seed, decline)


@given(workloads(), SOUND, FAULTS, st.integers(0, 2**32), st.sampled_from([0.0, 0.0, 0.2]))
@settings(max_examples=150, deadline=None)
def test_same_trajectory_with_the_published_faults(
    workload: DagWorkload, options: DagOptions, compat: Compat, seed: int, decline: float
) -> None:
    assert_same_trajectory(workload, with_faults(options, compat), seed, decline)


def test_same_trajectory_on_the_bundled_workload() -> None:
    source = open_source("tpch-like")
    workload = source.sequence(8, Arrivals(kind="poisson", interval_s=20.0), SeedTree(3))
    assert_same_trajectory(workload, DagOptions(executors=12), 7, 0.02)
