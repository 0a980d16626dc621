"""How time and memory of the dag simulator grow with the number of jobs, on a cluster of 10,000 executors.

    .venv/bin/python benchmarks/dag_scale.py                       # 1,000 to 100,000 jobs, about five minutes
    .venv/bin/python benchmarks/dag_scale.py --jobs 500 1000 2000  # a quick look

Each size runs in a process of its own, so that memory is its own.  Prints a row per size, the ratio of time to n log n
relative to the smallest size (at or below about 1 means: grows no faster), and draws a picture.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import resource
import sys
import time
from typing import Any


def measure(jobs: int, executors: int, load: float, scheduler: str) -> dict[str, Any]:
    from dovetail.core.seeds import SeedTree
    from dovetail.schedulers import SCHEDULERS
    from dovetail.sim.dag import DagOptions, DagWorld, run
    from dovetail.workloads.arrivals import Arrivals
    from dovetail.workloads.source import open_source

    seeds = SeedTree(0)
    source = open_source("tpch-like")
    arrivals = Arrivals(kind="poisson", load=load, executors=executors)
    warm = source.sequence(2, arrivals, seeds.child("warm"))
    rng = seeds.child("scheduler").generator()
    run(DagWorld(warm, DagOptions(executors=executors), seeds), SCHEDULERS.create(scheduler), rng)
    start = time.process_time()
    workload = source.sequence(jobs, arrivals, seeds.child("workload"))
    world = DagWorld(workload, DagOptions(executors=executors), seeds)
    set_up = time.process_time()
    result = run(world, SCHEDULERS.create(scheduler), rng)
    end = time.process_time()
    return {
        "jobs": jobs,
        "events": result.events,
        "decisions": result.decisions,
        "set_up_s": set_up - start,
        "run_s": end - set_up,
        "events_per_s": result.events / (end - set_up),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "avg_jct_s": result.avg_jct_s,
    }


def draw(rows: list[dict[str, Any]], path: str, executors: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    events = [row["events"] for row in rows]
    first = rows[0]
    law = [first["run_s"] * (n * math.log(n)) / (first["events"] * math.log(first["events"])) for n in events]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.loglog(events, [row["run_s"] for row in rows], "o-", label="measured")
    left.loglog(events, law, "--", color="grey", label="n log n from the smallest")
    left.set(xlabel="events", ylabel="CPU seconds", title=f"Time, {executors:,} executors")
    left.legend(frameon=False)
    right.semilogx(events, [row["memory_mb"] for row in rows], "o-")
    right.set(xlabel="events", ylabel="MB", title="Memory of the whole process", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--executors", type=int, default=10_000)
    parser.add_argument("--load", type=float, default=0.85)
    parser.add_argument("--scheduler", default="dag/fair-spill")
    parser.add_argument("--png", default="dag_scale.png")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for jobs in args.jobs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(measure, (jobs, args.executors, args.load, args.scheduler)))
        row = rows[-1]
        first = rows[0]
        law = (row["events"] * math.log(row["events"])) / (first["events"] * math.log(first["events"]))
        row["vs_n_log_n"] = row["run_s"] / first["run_s"] / law
        print(
            f"{jobs:>8,} jobs {row['events']:>12,} events {row['run_s']:>8.1f} s CPU {row['events_per_s']:>12,.0f} "
            f"events/s {row['memory_mb']:>6.0f} MB  time / n log n: {row['vs_n_log_n']:.2f}",
            file=sys.stderr if args.json else sys.stdout,
            flush=True,
        )
    draw(rows, args.png, args.executors)
    if args.json:
        print(json.dumps({"executors": args.executors, "scheduler": args.scheduler, "rows": rows}, indent=2))
    else:
        print(f"picture: {args.png}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
