"""In virtual time the live controller goes through the very trajectory of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execution.controller.virtual import VirtualEngine
from tests.sim.test_dag_twin import any_decision
from tests.testing.test_dag_reference_invariants import SOUND, workloads

from dovetail.core.dag import DagInfo, DagView
from dovetail.core.errors import StalledWorld
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions
from dovetail.testing import ReferenceDagWorld
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source

KEYS = (3, 4)


class Anything:
    """Valid decisions drawn at random, and sometimes none; the views it was shown are kept."""

    def __init__(self, seed: int, declines: float) -> None:
        self._seed = seed
        self._declines = declines
        self.views: list[DagView] = []

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._rng = np.random.default_rng(self._seed)
        self.views = []

    def decide(self, view: DagView) -> list[Any]:
        self.views.append(DagView(*(np.array(field) if isinstance(field, np.ndarray) else field for field in view)))
        busy = view.stage_running.any() or (view.job_executors > 0).any()
        if busy and self._rng.random() < self._declines:
            return []
        return [any_decision(view, self._info, self._rng)]


def play_reference(workload: Any, options: DagOptions, scheduler: Any) -> ReferenceDagWorld:
    world = ReferenceDagWorld(workload, options, *KEYS)
    scheduler.reset(world.info, np.random.default_rng(0))
    while (view := world.advance()) is not None:
        world.apply(scheduler.decide(view))
    return world


def assert_same_views(live: list[DagView], simulated: list[DagView]) -> None:
    for number, (mine, theirs) in enumerate(zip(live, simulated, strict=True)):
        for name, here, there in zip(DagView._fields, mine, theirs, strict=True):
            if name in ("stage_profile", "edge_parent", "edge_child", "job_deadline_s"):
                continue  # the order of edges is free; profiles are not told in this test
            assert np.allclose(here, there, rtol=1e-12, atol=1e-12), f"view {number}: {name}: {here} {there}"


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_random_decisions_on_random_workloads(data: st.DataObject) -> None:
    workload, options = data.draw(workloads()), data.draw(SOUND)
    seed, declines = data.draw(st.integers(0, 1000)), data.draw(st.sampled_from([0.0, 0.2]))
    there = Anything(seed, declines)
    try:
        reference = play_reference(workload, options, there)
    except StalledWorld:
        return
    here = Anything(seed, declines)
    engine = VirtualEngine(workload, options, here, KEYS)
    engine.play()
    assert {notice.kind for notice in engine.notices} <= {"lost"}
    assert_same_views(here.views, there.views)
    assert engine.task_log == reference.task_log[: len(engine.task_log)]
    assert engine.finish_s == reference.finish_s


@pytest.mark.parametrize("name", ["dag/fair-spill", "dag/hesrpt", "dag/graphene", "dag/decima:checkpoint=batch"])
@pytest.mark.parametrize("load", [None, 0.8])
def test_schedulers_of_the_registry(name: str, load: float | None) -> None:
    options = DagOptions(executors=10)
    arrivals = Arrivals("batch") if load is None else Arrivals("poisson", load=load, executors=10)
    workload = open_source("tpch-like").sequence(8, arrivals, SeedTree(5))
    reference = play_reference(workload, options, SCHEDULERS.create(name))
    engine = VirtualEngine(workload, options, SCHEDULERS.create(name), KEYS)
    engine.play()
    assert engine.finish_s == pytest.approx(reference.finish_s, rel=1e-12)
