"""`dovetail bench`: how fast it is on this machine, as ratios against a plain-Python reference."""

from __future__ import annotations

import argparse
import json
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["sim"], help="sim: the dag simulator")
    parser.add_argument("--workload", default="tpch-like", help="bundled name or directory (default: tpch-like)")
    parser.add_argument("--jobs", type=int, default=200, help="jobs in a sequence (default: 200)")
    parser.add_argument("--interval", type=float, default=25.0, help="mean seconds between arrivals (default: 25)")
    parser.add_argument("--executors", type=int, default=50, help="executors (default: 50)")
    parser.add_argument("--worlds", type=int, default=256, help="worlds in the batched simulator (default: 256)")
    parser.add_argument("--threads", type=int, default=2, help="threads of the batched simulator (default: 2)")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to measure each rate (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    from dovetail.core.errors import ConfigError
    from dovetail.evaluation.bench_dag import BenchOptions, bench_sim

    for name in ("jobs", "executors", "worlds", "threads"):
        if getattr(args, name) < 1:
            raise ConfigError(f"--{name} is {getattr(args, name)}; expected at least 1")
    for name in ("interval", "seconds"):
        if not getattr(args, name) > 0:
            raise ConfigError(f"--{name} is {getattr(args, name)}; expected more than 0")
    options = BenchOptions(
        workload=args.workload,
        jobs=args.jobs,
        interval_s=args.interval,
        executors=args.executors,
        worlds=args.worlds,
        threads=args.threads,
        seconds=args.seconds,
    )
    figures = bench_sim(options, say=lambda text: print(f"dovetail: {text} ...", file=sys.stderr))
    if args.json:
        print(json.dumps(figures, indent=2))
        return 0
    rows = (
        ("task events per CPU-second, compiled scheduler", "events_per_s", "events_ratio"),
        ("decisions per CPU-second, scheduler in Python", "python_decisions_per_s", "python_decisions_ratio"),
        (
            "decisions per second, batched, random policy",
            "batched_decisions_per_s",
            "batched_decisions_ratio",
        ),
    )
    print(f"{'':50s} {'here':>12s} {'x reference':>12s}")
    for text, rate, ratio in rows:
        print(f"{text:50s} {figures[rate]:12,.0f} {figures[ratio]:12,.0f}")
    print(f"{'reference: task events per CPU-second':50s} {figures['reference_events_per_s']:12,.0f}")
    print(f"{'reference: decisions per CPU-second':50s} {figures['reference_decisions_per_s']:12,.0f}")
    print(f"{'seconds to draw and reset 5,000 jobs':50s} {figures['load_and_reset_5000_jobs_s']:12.3f}")
    return 0
