"""The network as a kernel decides as the network called from Python does."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedulers.learned.decima.test_forward import random_parameters

from dovetail.core.dag import DagView
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint
from dovetail.schedulers.learned.decima.scheduler import Decima
from dovetail.schedulers.learned.decima.shape import SHAPES, DecimaShape
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.sim.dag.fork import Fork
from dovetail.sim.kernels.dag_compile import compile_kernel
from dovetail.testing.dag_views import ANY_SIZE, FOUR_SIZES, info_for, random_view, without_saturated_jobs
from dovetail.workloads import Arrivals, open_source

ODD = DecimaShape("informed-2", 5, (7,), (6, 3), graph=False)


def scheduler_of(shape: DecimaShape, seed: int = 0, **params: bool) -> Decima:
    return Decima(Decima.Params(**params), checkpoint=Checkpoint(shape, random_parameters(shape, seed), {}))


@pytest.mark.parametrize("shape", [*SHAPES.values(), ODD])
@pytest.mark.parametrize("classes", [ANY_SIZE, FOUR_SIZES])
def test_on_the_same_views(shape: DecimaShape, classes: tuple) -> None:
    scheduler, out = scheduler_of(shape), np.zeros(4, dtype=np.int64)
    scheduler.reset(info_for(classes), np.random.default_rng(0))
    kernel = scheduler.kernel()
    function = compile_kernel(kernel)
    taken = 0
    for seed in range(25):
        view = random_view(np.random.default_rng(seed), classes)
        lean, stage_before = without_saturated_jobs(view)
        lean = DagView(
            *(np.array(part) if isinstance(part, np.ndarray) else part for part in lean)
        )  # can be written to
        decisions = scheduler.decide(view)
        if not decisions:
            assert not len(lean.job_id) or function(lean, kernel.params, kernel.state, out) == 0
            continue
        assert function(lean, kernel.params, kernel.state, out) == 1
        assert (stage_before[out[0]], *out[1:]) == decisions[0]
        taken += 1
    assert taken > 10


@pytest.mark.parametrize("shape", [*SHAPES.values(), ODD])
def test_whole_episodes(shape: DecimaShape) -> None:
    workload = open_source("tpch-like").sequence(6, Arrivals("poisson", interval_s=5.0), SeedTree(3))
    finish_s = [
        run(DagWorld(workload, DagOptions(executors=12), SeedTree(3)), scheduler, SeedTree(3).generator(), compiled=way)
        for scheduler in (scheduler_of(shape),)
        for way in (True, False)
    ]
    np.testing.assert_array_equal(finish_s[0].finish_s, finish_s[1].finish_s)


def test_it_completes_copies_of_a_world() -> None:
    workload = open_source("tpch-like").sequence(4, Arrivals("batch"), SeedTree(1))
    world = DagWorld(workload, DagOptions(executors=8), SeedTree(1))
    scheduler = scheduler_of(SHAPES["informed"])
    scheduler.reset(world.info, np.random.default_rng(0))
    view = world.advance()
    assert view is not None
    stage, limit, kind, _ = scheduler.decide(view)[0]
    tries = [(int(view.job_id[view.stage_job[stage]]), int(view.stage_id[stage]), limit, kind)]
    cost = Fork().costs(world._memory.one, tries, scheduler.kernel())[0, 1]
    result = run(DagWorld(workload, DagOptions(executors=8), SeedTree(1)), scheduler, np.random.default_rng(0))
    assert cost == pytest.approx(result.avg_jct_s * 4)


def test_it_has_none_where_it_could_not_agree() -> None:
    """A kernel is not shown saturated jobs, and draws nothing."""
    for scheduler in (scheduler_of(DecimaShape("wide-1")), scheduler_of(SHAPES["informed"], sample=True)):
        scheduler.reset(info_for(), np.random.default_rng(0))
        assert scheduler.kernel() is None
