"""How long one decision of dag/decima takes, against the same network in torch, on one core.

    .venv/bin/python benchmarks/decima_latency.py
    .venv/bin/python benchmarks/decima_latency.py --json

The views are those of 20 jobs with about 200 stages in all, as a live engine would hand them over.  Targets: median
below 1 ms, 99th percentile below 3 ms.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from dovetail.core.dag import DagDecision, DagInfo, DagView
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint
from dovetail.schedulers.learned.decima.inputs import decima_input
from dovetail.schedulers.learned.decima.network import Chosen, DecimaNetwork, collate
from dovetail.schedulers.learned.decima.scheduler import Decima
from dovetail.schedulers.learned.decima.shape import SHAPES
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.workloads import Arrivals, open_source

TARGETS_MS = {"median_ms": 1.0, "p99_ms": 3.0}


def views(count: int) -> tuple[list[DagView], DagInfo]:
    """The first decisions of batches of 20 jobs, while all of them are still there; arrays of their own."""
    found: list[DagView] = []
    seed = 1000
    while len(found) < count:
        sequence = open_source("tpch-like").sequence(20, Arrivals("batch"), SeedTree(seed))
        world = DagWorld(sequence, DagOptions(executors=50), SeedTree(seed))
        view = world.advance()
        for _ in range(50):
            assert view is not None
            found.append(DagView(*(np.array(part) if isinstance(part, np.ndarray) else part for part in view)))
            stage = int(np.flatnonzero(view.stage_valid)[0])
            held = int(view.job_executors[view.stage_job[stage]])
            world.apply([DagDecision(stage, held + 1)])
            view = world.advance()
        seed += 1
    return found[:count], world.info


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="informed", choices=sorted(SHAPES), help="the network (informed)")
    parser.add_argument("--decisions", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    args = parser.parse_args()
    torch.set_num_threads(1)
    shape = SHAPES[args.shape]
    network = DecimaNetwork(shape)
    scheduler = Decima(checkpoint=Checkpoint(shape, network.parameter_arrays(), {}))
    seen, info = views(args.decisions)
    scheduler.reset(info, np.random.default_rng(0))
    for view in seen[:50]:
        scheduler.decide(view)  # compiled by now
    spent = []
    for view in seen:
        started = time.perf_counter()
        scheduler.decide(view)
        spent.append(time.perf_counter() - started)
    with_torch = []
    for view in seen[:200]:
        started = time.perf_counter()
        given = decima_input(view, info, scheduler._features)
        node = np.array([int(np.flatnonzero(given.valid)[0])])
        with torch.no_grad():
            network(collate([given], [Chosen(np.array([0]), node, np.array([-1]), given.held[node] + 1)]))
        with_torch.append(time.perf_counter() - started)
    figures = {
        "shape": args.shape,
        "parameters": shape.num_parameters,
        "stages": float(np.mean([len(view.stage_id) for view in seen])),
        "median_ms": 1e3 * float(np.median(spent)),
        "p99_ms": 1e3 * float(np.quantile(spent, 0.99)),
        "torch_median_ms": 1e3 * float(np.median(with_torch)),
    }
    figures["x_torch"] = figures["torch_median_ms"] / figures["median_ms"]
    if args.json:
        print(json.dumps({**figures, "targets_ms": TARGETS_MS}, indent=2))
        return 0
    print(f"{args.shape}, {shape.num_parameters:,} parameters, {figures['stages']:.0f} stages on view")
    for name, target in TARGETS_MS.items():
        verdict = "reached" if figures[name] <= target else "MISSED"
        print(f"{name:12s} {figures[name]:7.3f} ms, target {target:g} ms: {verdict}")
    print(f"{'torch':12s} {figures['torch_median_ms']:7.3f} ms at the median: {figures['x_torch']:.1f} times as long")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
