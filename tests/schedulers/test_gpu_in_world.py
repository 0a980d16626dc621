"""Schedulers of GPU jobs in the simulated world: interpreted and compiled alike, with failures, and with preemption."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuWorld, run
from dovetail.workloads.gpu_source import open_gpu

HEURISTICS = [entry.name for entry in SCHEDULERS.entries("gpu") if ".heuristic." in entry.target]


def play(
    spec: str, *, workload: str = "small-mixed", jobs: int = 60, compiled: bool = True, **facts: float
) -> GpuResult:
    source, seeds = open_gpu(workload), SeedTree(5)
    sequence = source.sequence(jobs, source.arrivals, source.cluster, seeds.child("jobs"))
    world = GpuWorld(sequence, default_speeds(), GpuOptions(source.cluster, **facts), seeds, record=True)  # type: ignore[arg-type]
    return run(world, SCHEDULERS.create(spec), seeds.generator(), compiled=compiled)


@pytest.mark.parametrize("spec", HEURISTICS)
def test_interpreted_and_compiled_runs_are_the_same(spec: str) -> None:
    facts = {"mean_time_to_failure_s": 80_000.0}
    ours, theirs = play(spec, **facts), play(spec, compiled=False, **facts)
    assert np.isfinite(ours.finish_s).all() and ours.stops.sum() > 0
    assert np.array_equal(ours.finish_s, theirs.finish_s)
    assert np.array_equal(ours.decision_log["job"], theirs.decision_log["job"])
    assert np.array_equal(ours.decision_log["priority"], theirs.decision_log["priority"])
    assert np.array_equal(ours.decision_log["affinity"], theirs.decision_log["affinity"])


@pytest.mark.parametrize("order", ["srtf", "las", "max-min"])
def test_preemptive_orders_stop_jobs_where_they_may(order: str) -> None:
    """And the mean completion time does not suffer from it."""
    without = play(f"gpu/{order}+topology", workload="small")
    having = play(f"gpu/{order}+topology", workload="small", preemption=True)
    assert without.stops.sum() == 0 and having.stops.sum() > 0
    assert np.isfinite(having.finish_s).all()
    if order == "srtf":
        assert having.completion_s.mean() < without.completion_s.mean()
