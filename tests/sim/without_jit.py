"""Prints what a few small runs come to; run with and without the JIT by `test_dag_without_jit.py`."""

from __future__ import annotations

import json

import numpy as np

from dovetail.core.dag import ExecutorClass
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source


def main() -> None:
    source = open_source("tpch-like")
    seeds = SeedTree(11)
    workload = source.sequence(2, Arrivals("poisson", interval_s=5.0), seeds.child("workload"))
    classes = (ExecutorClass(3, 1.0, 0.5), ExecutorClass(3, 1.0, 1.0))
    outcome: dict[str, object] = {}
    for label, options in (
        ("plain", DagOptions(executors=6)),
        (
            "failing",
            DagOptions(
                executors=6, mean_time_to_failure_s=60.0, repair_s=3.0, straggler_probability=0.1, straggler_factor=2.0
            ),
        ),
        ("classes", DagOptions(classes=classes)),
    ):
        for compiled in (True, False):
            world = DagWorld(workload, options, seeds, record=True)
            rng = seeds.child("scheduler").generator()
            result = run(world, SCHEDULERS.create("dag/fair-spill"), rng, compiled=compiled)
            outcome[f"{label} {compiled}"] = [
                result.finish_s.tolist(),
                result.events,
                result.decisions,
                result.costs,
                np.asarray(result.tasks).tolist()[-20:],
                np.asarray(result.decision_log).tolist()[-20:],
            ]
    world = DagWorld(workload, DagOptions(executors=6), seeds)
    base = SCHEDULERS.create("dag/fair")
    base.reset(world.info, seeds.generator())
    view = world.advance()
    outcome["look-ahead"] = world.info.look_ahead.costs(view, base.decide(view), base.kernel()).tolist()
    batch = DagBatch(source.catalogue, DagOptions(executors=6), iter([Episode(workload, seeds)]), 2)
    both, _ = batch.start()
    outcome["batch"] = [both.active.tolist(), both.stage_ptr.tolist(), both.world(0).stage_left.tolist()]
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
