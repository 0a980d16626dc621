"""Prints what a few small runs come to; run with and without the JIT by `test_gpu_without_jit.py`."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuOptions, GpuWorld, run
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import open_gpu


def main() -> None:
    cluster = GpuCluster(4, ("v100x4", "t4x4"), rack=2)
    plain = GpuOptions(cluster)
    failing = replace(plain, mean_time_to_failure_s=20_000.0, repair_s=600.0, checkpoint_s=600.0)
    source = open_gpu("small:largest_gang=8,longest_s=7200")
    workload = source.sequence(12, GpuArrivals("poisson", load=1.5), cluster, SeedTree(3))
    outcome: dict[str, object] = {}
    for label, options in (
        ("plain", plain),
        ("failing", failing),
        ("intervals", replace(plain, interval_s=300.0, mood_sigma=0.0)),
        ("stopping", replace(failing, preemption=True)),
    ):
        for compiled in (True, False):
            world = GpuWorld(workload, default_speeds(), options, SeedTree(4), record=True)
            name = "gpu/las+pack" if options.preemption else "gpu/fifo+pack"
            result = run(world, SCHEDULERS.create(name), np.random.default_rng(0), compiled=compiled)
            outcome[f"{label} {compiled}"] = [
                # libraries of logarithms and the like differ in the last bit
                [float(f"{t:.9g}") for t in result.finish_s],
                [float(f"{fee:.9g}") for fee in result.fee],
                result.events,
                result.decisions,
                result.asked,
                result.stops.tolist(),
                result.rows[["machine", "device", "workers", "mask"]].tolist(),
                result.decision_log[["job", "stops", "reason", "place"]].tolist(),
                result.machine_log[["machine", "up"]].tolist(),
            ]
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
