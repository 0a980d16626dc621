"""How long it takes to change from one composition to another, and how many changes a second that allows.

    .venv/bin/python benchmarks/hot_swap.py
    .venv/bin/python benchmarks/hot_swap.py --json

During one simulated run of 400 jobs on 40 executors the composition is changed before every decision, among parts that
remember things and parts that do not, a packing heuristic and a network.  Target: below 10 ms, always.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from dovetail.adaptation.composition import parse_composition
from dovetail.adaptation.hot_swap import Assembly
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.workloads import Arrivals, open_source

TARGET_MS = 10.0
TEXTS = (
    "drf+equal-dominant+smallest-fit+local",
    "las+equal-threads+most-free+central",
    "las+fair-share+smallest-fit+hawk",
    "dag/tetris",
    "dag/decima",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    workload = open_source("granularity").sequence(400, Arrivals("poisson", interval_s=4.0), SeedTree(0))
    world = DagWorld(workload, DagOptions(executors=40), SeedTree(0), record=True)
    assembly = Assembly([parse_composition(text) for text in TEXTS])
    assembly.reset(world.info, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    spent_s = []
    while (view := world.advance()) is not None:
        to = int(rng.integers(len(TEXTS)))
        start = time.perf_counter()
        assembly.swap(to)
        spent_s.append(time.perf_counter() - start)
        world.apply(assembly.decide(view))
    ms = 1e3 * np.array(spent_s)
    found = {
        "swaps": assembly.swaps,
        "tasks_done": len(world.result().tasks),
        "tasks_expected": int(workload.catalogue.dag_tasks[workload.job_dag].sum()),
        "median_ms": float(np.median(ms)),
        "p99_ms": float(np.percentile(ms, 99)),
        "longest_ms": float(ms.max()),
        "target_ms": TARGET_MS,
    }
    if args.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['swaps']:,} swaps; {found['tasks_done']:,} of {found['tasks_expected']:,} tasks done, each once")
    print(f"median {found['median_ms']:.4f} ms, p99 {found['p99_ms']:.4f} ms, longest {found['longest_ms']:.3f} ms")


if __name__ == "__main__":
    main()
