from __future__ import annotations

import numpy as np
import pytest
from tests.features.test_dag import batch_views
from tests.schedulers.learned.decima.networks import SHAPES, random_parameters

from dovetail.core.dag import Reason
from dovetail.core.errors import CheckpointError, DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint
from dovetail.schedulers.learned.decima.scheduler import Decima
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.testing.dag_views import FOUR_SIZES, info_for, random_view
from dovetail.workloads import Arrivals, open_source

SHAPE = SHAPES["informed"]
NETWORK = Checkpoint(SHAPE, random_parameters(SHAPE), {})


def test_decisions_are_valid_and_say_why() -> None:
    scheduler = Decima(checkpoint=NETWORK)
    scheduler.reset(info_for(FOUR_SIZES), np.random.default_rng(0))
    decided = 0
    for seed in range(60):
        view = random_view(np.random.default_rng(seed), FOUR_SIZES)
        for stage, limit, kind, reason in scheduler.decide(view):
            assert view.stage_valid[stage]
            assert limit > view.job_executors[view.stage_job[stage]]
            assert FOUR_SIZES[kind].memory >= view.stage_memory[stage] and view.source_by_class[kind] > 0
            assert reason == Reason.LEARNED
            decided += 1
    assert decided > 40


def test_many_at_once() -> None:
    scheduler = Decima(checkpoint=NETWORK)
    for views, info in batch_views(20):
        scheduler.reset(info, np.random.default_rng(0))
        stage, limit, kind = scheduler.decide_batch(views)
        for w in range(4):
            if not views.active[w]:
                assert stage[w] == -1
                continue
            alone = scheduler.decide(views.world(w))[0]
            assert (stage[w], limit[w], kind[w]) == alone[:3]


@pytest.mark.parametrize("sample", [False, True])
def test_a_whole_run_is_repeatable(sample: bool) -> None:
    sequence = open_source("tpch-like").sequence(4, Arrivals("batch"), SeedTree(1))
    finish = []
    for _ in range(2):
        scheduler = Decima(Decima.Params(sample=sample), checkpoint=NETWORK)
        world = DagWorld(sequence, DagOptions(executors=8), SeedTree(1))
        finish.append(run(world, scheduler, SeedTree(2).generator()).finish_s)
    np.testing.assert_array_equal(*finish)
    assert np.isfinite(finish[0]).all()


def test_errors() -> None:
    with pytest.raises(DovetailError, match="reset"):
        Decima(checkpoint=NETWORK).decide(random_view(np.random.default_rng(0)))
    with pytest.raises(UnknownName, match="unknown checkpoint 'nope'"):
        Decima(Decima.Params(checkpoint="nope"))
    with pytest.raises(CheckpointError, match="no such file"):
        Decima(Decima.Params(checkpoint="./nope"))
