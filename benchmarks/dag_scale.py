"""How time and memory of the dag simulator grow with the number of jobs, on a cluster of 10,000 executors.

    .venv/bin/python benchmarks/dag_scale.py           # 1,000 to 100,000 jobs, about five minutes
    .venv/bin/python benchmarks/dag_scale.py --quick   # 300 to 3,000 jobs, within a minute

Each size runs in a process of its own, so that memory is its own.  Prints a row per size with the ratio of its time to
n log n relative to the smallest size (at or below about 1 means: grows no faster), then the ratio of events per second
to the plain-Python reference at a small size, on the same job sequences and the same cluster; and draws a picture.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import resource
import sys
import time
from statistics import median
from typing import Any

from dovetail.core.errors import DovetailError

JOBS = (1000, 3000, 10_000, 30_000, 100_000)
QUICK_JOBS = (300, 1000, 3000)
REFERENCE_JOBS = 20
REFERENCE_REPEATS = 3


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


def compare(executors: int, load: float, scheduler: str) -> dict[str, Any]:
    """Events per CPU-second here and in the plain-Python reference, on the same few short sequences."""
    from dovetail.core.seeds import SeedTree
    from dovetail.evaluation.bench_dag import time_reference, time_run
    from dovetail.schedulers import SCHEDULERS
    from dovetail.sim.dag import DagOptions
    from dovetail.workloads.arrivals import Arrivals
    from dovetail.workloads.source import open_source

    source = open_source("tpch-like")
    cluster = DagOptions(executors=executors)
    arrivals = Arrivals(kind="poisson", load=load, executors=executors)
    ours, theirs = [], []
    for number in range(REFERENCE_REPEATS):
        seeds = SeedTree(number)
        workload = source.sequence(REFERENCE_JOBS, arrivals, seeds.child("workload"))
        for _ in range(2):  # the first time, memory and caches are cold
            one = time_run(workload, cluster, seeds, SCHEDULERS.create(scheduler), compiled=True)
        other = time_reference(workload, cluster, seeds, SCHEDULERS.create(scheduler))
        ours.append(one.events / one.seconds)
        theirs.append(other.events / other.seconds)
    return {
        "jobs": REFERENCE_JOBS,
        "repeats": REFERENCE_REPEATS,
        "events_per_s": median(ours),
        "reference_events_per_s": median(theirs),
        "events_ratio": median(ours) / median(theirs),
    }


def in_own_process(function: Any, *arguments: Any) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(function, arguments)
    return found


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--jobs", type=int, nargs="+", metavar="N", help=f"sizes to measure ({spaced(JOBS)})")
    parser.add_argument("--quick", action="store_true", help=f"{spaced(QUICK_JOBS)} jobs, no picture unless asked for")
    parser.add_argument("--executors", type=int, default=10_000, help="executors (default: 10000)")
    parser.add_argument("--load", type=float, default=0.85, help="work as a share of the cluster (default: 0.85)")
    parser.add_argument("--scheduler", default="dag/fair-spill", help="by name (default: dag/fair-spill)")
    parser.add_argument("--png", metavar="FILE", help="where to draw the picture (default: dag_scale.png)")
    parser.add_argument("--json", action="store_true", help="print one JSON document; the rows go to standard error")
    args = parser.parse_args()
    out = sys.stderr if args.json else sys.stdout
    setting = (args.executors, args.load, args.scheduler)
    rows: list[dict[str, Any]] = []
    try:
        for jobs in args.jobs or (QUICK_JOBS if args.quick else JOBS):
            row = in_own_process(measure, jobs, *setting)
            rows.append(row)
            first = rows[0]
            law = (row["events"] * math.log(row["events"])) / (first["events"] * math.log(first["events"]))
            row["vs_n_log_n"] = row["run_s"] / first["run_s"] / law
            print(
                f"{jobs:>8,} jobs {row['events']:>12,} events {row['run_s']:>8.1f} s CPU "
                f"{row['events_per_s']:>12,.0f} events/s {row['memory_mb']:>6.0f} MB  "
                f"time / n log n: {row['vs_n_log_n']:.2f}",
                file=out,
                flush=True,
            )
        against = in_own_process(compare, *setting)
    except DovetailError as error:
        print(f"dag_scale: error: {error}", file=sys.stderr)
        return 2
    print(
        f"plain-Python reference, median of {against['repeats']} x {against['jobs']} jobs: "
        f"{against['reference_events_per_s']:,.0f} events/s; here, on the same: {against['events_per_s']:,.0f}; "
        f"ratio {against['events_ratio']:,.0f}",
        file=out,
    )
    picture = args.png or (None if args.quick else "dag_scale.png")
    if picture is not None:
        draw(rows, picture, args.executors)
        print(f"picture: {picture}", file=out)
    if args.json:
        document = {"executors": args.executors, "scheduler": args.scheduler, "rows": rows, "reference": against}
        print(json.dumps(document, indent=2))
    return 0


def spaced(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


if __name__ == "__main__":
    raise SystemExit(main())
