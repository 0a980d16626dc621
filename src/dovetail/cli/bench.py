"""`dovetail bench`: how fast it is on this machine, as ratios against a plain-Python reference."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.evaluation.bench_dag import BenchOptions


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["sim"], help="sim: the dag simulator")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that `benchmarks/dag_speed.py` takes too."""
    parser.add_argument("--workload", default="tpch-like", help="bundled name or directory (default: tpch-like)")
    parser.add_argument("--jobs", type=int, default=200, help="jobs in a sequence (default: 200)")
    parser.add_argument("--interval", type=float, default=25.0, help="mean seconds between arrivals (default: 25)")
    parser.add_argument("--executors", type=int, default=50, help="executors (default: 50)")
    parser.add_argument("--worlds", type=int, default=256, help="worlds in the batched simulator (default: 256)")
    parser.add_argument("--threads", type=int, default=2, help="threads of the batched simulator (default: 2)")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to measure each rate (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def read_options(args: argparse.Namespace) -> BenchOptions:
    from dovetail.evaluation.bench_dag import BenchOptions

    return BenchOptions(
        workload=args.workload,
        jobs=args.jobs,
        interval_s=args.interval,
        executors=args.executors,
        worlds=args.worlds,
        threads=args.threads,
        seconds=args.seconds,
    )


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.bench_dag import bench_sim, speed_table

    figures = bench_sim(read_options(args), say=say)
    print(json.dumps(figures, indent=2) if args.json else speed_table(figures))
    return 0


def say(text: str) -> None:
    print(f"dovetail: {text} ...", file=sys.stderr)
