"""Trajectories that must not change unnoticed.

If a change of behaviour is meant, say so in the changelog, bump the version that published numbers name, and put the
new digests here.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source

GOLDEN = {
    "dag/fifo": "610e96a31fd600c9",
    "dag/fair": "775fe9f69f21750d",
    "dag/random": "6f074e5798a1e467",
}


def digest(scheduler: str) -> str:
    seeds = SeedTree(2026)
    workload = open_source("tpch-like").sequence(12, Arrivals("poisson", interval_s=15.0), seeds.child("workload"))
    options = DagOptions(executors=20, mean_time_to_failure_s=400.0, straggler_probability=0.01, straggler_factor=5.0)
    world = DagWorld(workload, options, seeds, record=True)
    result = run(world, SCHEDULERS.create(scheduler), seeds.child("scheduler").generator())
    whole = hashlib.sha256(np.ascontiguousarray(result.tasks).tobytes())
    whole.update(np.ascontiguousarray(result.decision_log).tobytes())
    return whole.hexdigest()[:16]


@pytest.mark.parametrize("scheduler", sorted(GOLDEN))
def test_golden(scheduler: str) -> None:
    assert digest(scheduler) == GOLDEN[scheduler]
