"""Copies of a world go on as the world itself would, and leave it as it is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, toy_workload

from dovetail.core.dag import DagDecision
from dovetail.core.errors import DovetailError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.sim.dag.fork import Fork
from dovetail.sim.dag.left_over import still_to_pay
from dovetail.sim.dag.objective import COSTS
from dovetail.workloads import Arrivals, open_source


def world_of(seed: int = 3) -> DagWorld:
    sequence = open_source("tpch-like").sequence(6, Arrivals("poisson", interval_s=8.0), SeedTree(seed))
    return DagWorld(sequence, DagOptions(executors=10), SeedTree(seed), record=True)


def test_a_copy_ends_as_the_world_does() -> None:
    world, scheduler, fork = world_of(), SCHEDULERS.create("dag/fair"), Fork()
    expected = run(world_of(), SCHEDULERS.create("dag/fair"), SeedTree(0).generator())
    scheduler.reset(world.info, SeedTree(0).generator())
    view = world.advance()
    seen = 0
    while view is not None:
        decisions = scheduler.decide(view)
        if decisions and seen % 20 == 0:
            stage, limit, kind, _ = decisions[0]
            tries = [(int(view.job_id[view.stage_job[stage]]), int(view.stage_id[stage]), limit, kind)]
            found = fork.costs(world._memory.one, tries, scheduler.kernel())[0]
            np.testing.assert_allclose(found, [expected.costs[name] for name in COSTS], rtol=1e-12)
        seen += 1
        world.apply(decisions)
        view = world.advance()
    assert seen > 40
    result = world.result()  # the world itself was not touched
    np.testing.assert_array_equal(result.finish_s, expected.finish_s)
    assert len(result.tasks) == int(sum(result.workload.catalogue.dag_tasks[result.workload.job_dag]))


def test_other_luck_gives_another_future() -> None:
    world, fork = world_of(), Fork()
    scheduler = SCHEDULERS.create("dag/fair")
    scheduler.reset(world.info, SeedTree(0).generator())
    view = world.advance()
    assert view is not None
    stage = int(np.flatnonzero(view.stage_valid)[0])
    tries = [(int(view.job_id[view.stage_job[stage]]), int(view.stage_id[stage]), 5, -1)]
    own, other, again = (
        fork.costs(world._memory.one, tries, scheduler.kernel(), luck=luck)[0, 1] for luck in (None, 7, 7)
    )
    assert own != other == again


def test_what_cannot_be_done_is_refused() -> None:
    world, fork = world_of(), Fork()
    scheduler = SCHEDULERS.create("dag/fair")
    scheduler.reset(world.info, SeedTree(0).generator())
    world.advance()
    with pytest.raises(InvalidDecision, match="cannot be tried"):
        fork.costs(world._memory.one, [(0, 0, 0, -1)], scheduler.kernel())


def test_only_who_says_so_is_told_the_future() -> None:
    world = world_of()
    assert world.info_for(SCHEDULERS.create("dag/rollout")).oracle is None
    oracle = world.info_for(SCHEDULERS.create("dag/oracle-search")).oracle
    assert oracle is not None
    view = world.advance()
    assert view is not None
    scheduler = SCHEDULERS.create("dag/fair")
    scheduler.reset(world.info, SeedTree(0).generator())
    stage = int(np.flatnonzero(view.stage_valid)[0])
    held = int(view.job_executors[view.stage_job[stage]])
    costs = oracle.costs(view, [DagDecision(stage, held + 1), DagDecision(stage, 10)], scheduler.kernel())
    assert (costs > 0).all() and costs[0] != costs[1]
    soon = oracle.costs(view, [DagDecision(stage, 10)], scheduler.kernel(), 0.01)
    at_once = oracle.costs(view, [DagDecision(stage, 10)], scheduler.kernel(), 1e-9)
    assert soon == pytest.approx(at_once, rel=0.01) and soon < costs[1]  # what is left is estimated


def test_the_oracle_beats_its_base_and_needs_a_world_that_tells() -> None:
    base = run(world_of(), SCHEDULERS.create("dag/hesrpt"), SeedTree(0).generator()).avg_jct_s
    best = run(world_of(), SCHEDULERS.create("dag/oracle-search"), SeedTree(0).generator()).avg_jct_s
    assert best < base
    with pytest.raises(DovetailError, match="tells the future"):
        SCHEDULERS.create("dag/oracle-search").reset(world_of().info, SeedTree(0).generator())


def test_what_is_left_is_estimated_by_equal_shares() -> None:
    """Work 4 and 10 on two executors: both share until 4 s, then the longer has 6 left: 4 and 7 s, 11 job-seconds."""
    workload = toy_workload(ToyJob([ToyStage(4, 1.0)]), ToyJob([ToyStage(5, 2.0)]))
    world = DagWorld(workload, DagOptions(executors=2, moving_delay_s=0.0, warm_up_s=0.0), SeedTree(0))
    world.advance()
    left = dict(zip(COSTS, still_to_pay(world._memory.one), strict=True))
    assert left == {"time": 7.0, "jobs": 11.0, "weight": 11.0, "late": 0.0, "executors": 14.0}
