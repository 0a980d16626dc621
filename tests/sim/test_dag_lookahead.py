"""What-if runs agree with what then happens, where nothing is left to chance."""

from __future__ import annotations

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, toy_workload

from dovetail.core.dag import DagDecision
from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.workloads.dag import DagWorkload


def workload() -> DagWorkload:
    long = ToyJob([ToyStage(6, 3.0), ToyStage(2, 2.0, (0,))])
    short = ToyJob([ToyStage(2, 1.0), ToyStage(1, 1.0, (0,))])
    return toy_workload(long, short, short)


def test_costs_are_what_then_happens() -> None:
    """Without chance and arrivals, the model's answer at the start is the sum of completion times."""
    options = DagOptions(executors=3, warm_up_s=0.0)
    base = SCHEDULERS.create("dag/fair-spill")
    world = DagWorld(workload(), options, SeedTree(0))
    base.reset(world.info, np.random.default_rng(0))
    view = world.advance()
    assert view is not None
    candidates = [DagDecision(int(stage), limit) for stage in np.flatnonzero(view.stage_valid) for limit in (1, 3)]
    costs = world.info.look_ahead.costs(view, candidates, base.kernel())
    for candidate, cost in zip(candidates, costs, strict=True):
        real = DagWorld(workload(), options, SeedTree(0))
        real.advance()
        real.apply([candidate])
        while (view := real.advance()) is not None:
            real.apply(base.decide(view))
        assert cost == pytest.approx(real.result().completion_s.sum())
    assert len(set(costs.round(6))) > 1


def test_every_decision_of_a_run_can_be_looked_at() -> None:
    """From the middle of a run too: with failures, stages running dry, promised and moving executors."""
    options = DagOptions(executors=4, mean_time_to_failure_s=20.0, repair_s=2.0)
    base = SCHEDULERS.create("dag/fair-spill")
    world = DagWorld(workload(), options, SeedTree(1))
    base.reset(world.info, np.random.default_rng(0))
    looked = 0
    while (view := world.advance()) is not None:
        decisions = base.decide(view)
        if decisions:
            cost = world.info.look_ahead.costs(view, decisions, base.kernel())
            # at least what the jobs in the system cost if all were done by the longest chain left
            assert cost[0] >= 0.0
            looked += 1
        world.apply(decisions)
    assert looked > 5


def test_bad_candidates_are_refused() -> None:
    world = DagWorld(workload(), DagOptions(executors=3), SeedTree(0))
    base = SCHEDULERS.create("dag/fifo")
    base.reset(world.info, np.random.default_rng(0))
    view = world.advance()
    for candidate, text in ((DagDecision(1, 1), "may not be chosen"), (DagDecision(0, 0), "not above")):
        with pytest.raises(InvalidDecision, match=text):
            world.info.look_ahead.costs(view, [candidate], base.kernel())


def test_rollout_is_not_worse_than_its_base_here() -> None:
    def average(name: str) -> float:
        world = DagWorld(workload(), DagOptions(executors=3, warm_up_s=0.0), SeedTree(0))
        scheduler = SCHEDULERS.create(name)
        scheduler.reset(world.info, np.random.default_rng(0))
        while (view := world.advance()) is not None:
            world.apply(scheduler.decide(view))
        return world.result().avg_jct_s

    assert average("dag/rollout") <= average("dag/fair-spill")
