"""Worlds of a batch take the trajectories they take alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.sim.gpu_toys import random_jobs, random_model

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuWorld, run
from dovetail.sim.gpu.batch import GpuBatch

OPTIONS = GpuOptions(GpuCluster(4, ("v100x8", "t4x4")), mood_period_s=100.0, mood_every_s=20.0)
NAME = "gpu/fifo+first-fit"


def world(number: int) -> GpuWorld:
    rng = np.random.default_rng(number)
    model = random_model(rng)
    options = replace(OPTIONS, mean_time_to_failure_s=2000.0, checkpoint_s=50.0) if number % 2 else OPTIONS
    workload = random_jobs(rng, 5 + 4 * number, options.cluster, model, ties=False)
    return GpuWorld(workload, model, options, SeedTree(number), record=True)


def said(result: GpuResult) -> tuple[bytes, ...]:
    return tuple(getattr(result, name).tobytes() for name in ("finish_s", "segments", "rows", "speeds", "machine_log"))


def alone(number: int) -> tuple[bytes, ...]:
    return said(run(world(number), SCHEDULERS.create(NAME), np.random.default_rng(0), compiled=False))


@pytest.mark.parametrize("threads", [1, 3])
def test_as_alone(threads: int) -> None:
    batch = GpuBatch([world(number) for number in range(6)], threads=threads)
    schedulers = [SCHEDULERS.create(NAME) for _ in batch.worlds]
    for one, scheduler in zip(batch.worlds, schedulers, strict=True):
        scheduler.reset(one.info, np.random.default_rng(0))
    rounds = 0
    while batch.views:
        rounds += 1
        some = [number for number in batch.views if rounds % 3 or number % 2 == 0] or list(batch.views)
        batch.step({number: schedulers[number].decide(batch.views[number]) for number in some})
    assert [said(result) for result in batch.results()] == [alone(number) for number in range(6)]
    batch.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_whole_episodes(threads: int) -> None:
    batch = GpuBatch([world(number) for number in range(4)], threads=threads)
    kernels = []
    for one in batch.worlds:
        scheduler = SCHEDULERS.create(NAME)
        scheduler.reset(one.info, np.random.default_rng(0))
        kernels.append(scheduler.kernel())
    assert [said(result) for result in batch.run_kernels(kernels)] == [alone(number) for number in range(4)]
    assert not batch.views
    batch.close()


def test_a_refused_answer_leaves_its_world_and_those_after_it() -> None:
    batch = GpuBatch([world(number) for number in range(3)])
    before = dict(batch.views)
    scheduler = SCHEDULERS.create(NAME)
    scheduler.reset(batch.worlds[0].info, np.random.default_rng(0))
    good = scheduler.decide(batch.views[0])
    with pytest.raises(InvalidDecision, match="no such job"):
        batch.step({0: good, 1: [GpuDecision(99, np.zeros(1, np.int64))], 2: []})
    assert batch.views[1] is before[1] and batch.views[2] is before[2] and batch.views.get(0) is not before[0]
