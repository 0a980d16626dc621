"""How much an input-dependent baseline calms the gradient, on dag.

    .venv/bin/python benchmarks/decima_variance.py [--workload tpch-like] [--json]

Gradients of REINFORCE are taken of many small batches (each: some job sequences, several episodes of each) with three
baselines: none, the mean of all other episodes at the same time, and that of the others with the same sequence.
Printed is the variance of the gradient, summed over its components, in relation to the first.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from dovetail.schedulers.learned.decima.shape import SHAPES
from dovetail.sim.dag import DagOptions
from dovetail.training.baseline import BASELINES
from dovetail.training.dag_trainer import FIRST_TRAINING_SEED, fresh_state
from dovetail.training.dag_worker import Credit, DagWorker, Setting, Task, Update
from dovetail.workloads import Arrivals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="tpch-like", help="bundled name or directory (tpch-like)")
    parser.add_argument("--interval", type=float, default=25.0, help="mean seconds between jobs (25)")
    parser.add_argument("--jobs", type=int, default=12, help="jobs in a sequence (12)")
    parser.add_argument("--batches", type=int, default=20, help="gradients for each baseline (20)")
    parser.add_argument("--sequences", type=int, default=4, help="job sequences in a batch (4)")
    parser.add_argument("--copies", type=int, default=4, help="episodes of each (4)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    args = parser.parse_args()
    shape = SHAPES["paper"]
    setting = Setting(args.workload, Arrivals("poisson", interval_s=args.interval), DagOptions(executors=50))
    worker = DagWorker(setting, shape)
    weights = fresh_state(shape, 0).weights
    variance = {}
    for baseline in reversed(BASELINES):
        print(f"decima_variance: {args.batches} gradients with baseline {baseline}", file=sys.stderr)
        gradients = []
        for batch in range(args.batches):
            first = FIRST_TRAINING_SEED + batch * args.sequences
            task = Task(tuple(range(first, first + args.sequences)), args.copies, args.jobs, draws=batch)
            worker.collect(weights, task, Credit(baseline, standardise=False))
            found = worker.gradient(weights, Update("reinforce"), 0, 1)
            gradients.append(found.gradient / found.decisions)
        variance[baseline] = float(np.var(gradients, axis=0, ddof=1).sum())
    ratios = {name: value / variance["none"] for name, value in variance.items()}
    if args.json:
        print(json.dumps({"variance": variance, "ratio_to_none": ratios}, indent=2))
        return 0
    for name in ("none", "time", "input"):
        print(f"baseline {name:6s} variance of the gradient {variance[name]:12.4g}, {ratios[name]:.4f} of none's")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
