"""Rewards of a run sum to minus the objective."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.errors import UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.sim.dag.objective import COSTS, OBJECTIVES, objective
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_rewards_add_up(name: str) -> None:
    source = open_source("fork-joins")
    seeds = SeedTree(4)
    workload = source.sequence(4, Arrivals("poisson", interval_s=3.0), seeds)
    batch = DagBatch(source.catalogue, DagOptions(executors=4), iter([Episode(workload, seeds)]), 1)
    view, ended = batch.start()
    seen = np.zeros(len(COSTS))
    total = 0.0
    while not ended:
        stage = int(np.argmax(view.world(0).stage_valid))
        limit = int(view.world(0).job_executors[view.world(0).stage_job[stage]]) + view.source_executors[0]
        view, ended = batch.step(np.array([stage]), np.array([limit]))
        now = np.array([ended[0].result.costs[cost] for cost in COSTS]) if ended else view.costs[0]
        total += float(objective(name).reward(now - seen))
        seen = now
    costs = ended[0].result.costs
    expected = -sum(price * costs[cost] for price, cost in zip(objective(name).prices(), COSTS, strict=True))
    assert total == pytest.approx(expected, rel=1e-9)
    if name == "average-jct":
        assert -total == pytest.approx(ended[0].result.completion_s.sum(), rel=1e-9)
    if name == "makespan":
        assert -total == pytest.approx(ended[0].result.last_finish_s, rel=1e-9)


def test_unknown_objective() -> None:
    with pytest.raises(UnknownName, match="did you mean 'makespan'"):
        objective("makspan")
