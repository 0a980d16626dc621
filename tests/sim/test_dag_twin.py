"""The compiled world and its plain-Python twin go through the same trajectory, whatever is thrown at them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.test_dag_reference_invariants import FAULTS, SOUND, with_faults, workloads

from dovetail.core.dag import DagDecision, DagInfo, DagView, Reason
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import Compat, DagOptions, DagWorld
from dovetail.testing import ReferenceDagWorld
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import open_source

Worlds = tuple[DagWorld, ReferenceDagWorld]


def any_decision(view: DagView, info: DagInfo, rng: np.random.Generator) -> DagDecision:
    """A valid decision: any limit up to the cluster's size (small ones often), often a class of its own."""
    stage = int(rng.choice(np.flatnonzero(view.stage_valid)))
    held = int(view.job_executors[view.stage_job[stage]])
    most = info.num_executors if rng.random() < 0.3 else held + int(rng.integers(1, view.source_executors + 1))
    fitting = [-1, *classes_on_offer(view, info, stage)]
    reason = int(rng.integers(len(Reason)))
    return DagDecision(stage, int(rng.integers(held + 1, most + 1)), int(rng.choice(fitting)), Reason(reason))


def classes_on_offer(view: DagView, info: DagInfo, stage: int) -> list[int]:
    return [
        number
        for number, kind in enumerate(info.classes)
        if view.source_by_class[number]
        and kind.cpu >= view.stage_cpu[stage]
        and kind.memory >= view.stage_memory[stage]
    ]


def two_decisions(view: DagView, info: DagInfo, rng: np.random.Generator) -> list[DagDecision]:
    """A valid decision, and one that may be valid after it: also of a child of the first one's stage, say."""
    first = any_decision(view, info, rng)
    if rng.random() < 0.8:  # leave something over
        first = first._replace(limit=int(view.job_executors[view.stage_job[first.stage]]) + 1)
    others = np.flatnonzero((view.stage_unclaimed > 0) & (np.arange(len(view.stage_id)) != first.stage))
    stage = int(rng.choice(others)) if others.size else first.stage
    limit = info.num_executors if rng.random() < 0.7 else int(rng.integers(1, info.num_executors + 1))
    kind = -1 if rng.random() < 0.7 else int(rng.integers(len(info.classes)))
    return [first, DagDecision(stage, limit, kind)]


def bad_decisions(view: DagView, info: DagInfo, rng: np.random.Generator) -> Any:
    """One of the many things that no world may take, alone or after a decision that would be valid."""
    good = any_decision(view, info, rng)
    held = int(view.job_executors[view.stage_job[good.stage]])
    unfit = set(range(len(info.classes))) - set(classes_on_offer(view, info, good.stage))
    bad = [
        good._replace(stage=-1),
        good._replace(stage=len(view.stage_id)),
        good._replace(limit=held),
        good._replace(limit=-1),
        good._replace(limit=info.num_executors + 1),
        good._replace(limit=2**63),
        good._replace(limit=2**70),
        good._replace(executor_class=-2),
        good._replace(executor_class=len(info.classes)),
        *(good._replace(executor_class=kind) for kind in unfit),
        good._replace(stage=float(good.stage)),
        good._replace(limit=good.limit + 0.5),
        good._replace(stage=str(good.stage)),
        good._replace(limit=None),
        good[:2],
        None,
    ]
    too_early = [good._replace(stage=int(stage)) for stage in np.flatnonzero(~view.stage_valid)]  # or too late
    one = bad[rng.integers(len(bad))]
    first = [*bad, *too_early][rng.integers(len(bad) + len(too_early))]
    lists = [None, [first], [first], [first, good], [good, one], [good, good]]
    return lists[rng.integers(len(lists))]


def refuses(world: DagWorld | ReferenceDagWorld, decisions: Any) -> bool:
    try:
        world.apply(decisions)
    except InvalidDecision:
        return True
    return False


def assert_refused(worlds: Worlds, decisions: Any) -> None:
    """Both worlds refuse, and still show what they showed before."""
    for world in worlds:
        before = DagView(*(np.copy(part) for part in world.advance()))
        assert refuses(world, decisions), f"{world} took {decisions}"
        assert_same_view(world.advance(), before)


def apply_to_both(worlds: Worlds, decisions: list[DagDecision]) -> None:
    """Carry out the decisions, or if both worlds refuse them the first one alone."""
    fast, slow = worlds
    if refuses(slow, decisions):
        assert_refused(worlds, decisions)
        decisions = decisions[:1]
        assert not refuses(slow, decisions)
    fast.apply(decisions)


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
    worlds = (fast, slow)
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
        if rng.random() < 0.2:
            assert_refused(worlds, bad_decisions(ours, fast.info, rng))
        draw = rng.random()
        if draw < decline:
            decisions = []
        elif draw < (0.4 if ours.source_executors > 1 else 0.9):
            decisions = [any_decision(ours, fast.info, rng)]
        else:
            decisions = two_decisions(ours, fast.info, rng)
        try:
            apply_to_both(worlds, decisions)
        except StalledWorld:
            decline = 1.0
            try:
                slow.advance()
            except StalledWorld:
                return
            raise AssertionError("the world is stalled, the twin is not") from None
    result = fast.result()
    assert [tuple(row) for row in result.tasks.tolist()] == slow.task_log
    where = ("time_s", "source_job", "source_stage", "on_offer", "job", "stage")
    columns = (*where, "limit", "given", "executor_class", "reason")
    log = result.decision_log
    assert list(zip(*(log[name].tolist() for name in columns), strict=True)) == slow.decision_log
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
