"""Measures `tpch-spark`: the 22 queries of TPC-H on a real standalone Spark, as a workload that is shipped.

    .venv/bin/python experiments/spark_tpch.py --write              # on a quiet machine
    .venv/bin/python experiments/spark_tpch.py --quick --anyway     # three queries of 10 MB: does it work?

Every run of a query is an application of its own, with new executors of one core each, on data of `tpchgen-cli`.  Event
logs are kept in OUT and not measured twice; they are imported, runs of a query put together, and durations thinned out.

More executors than cores measure how cores are shared, not how a cluster of that size would do: with twice as many,
durations double.  By default there are 1, 2, 4, ... up to the cores of this machine.  Needs the extras spark and bench.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.core.errors import DovetailError
from dovetail.core.extras import require
from dovetail.workloads.bundled.measured import FOLDER
from dovetail.workloads.dag import DagCatalogue
from dovetail.workloads.durations import dag_work_at_s
from dovetail.workloads.readers.spark_eventlog import SparkOptions, read_spark_eventlog
from dovetail.workloads.source import DagSource
from dovetail.workloads.store import write_source

TARGET = FOLDER / "tpch_spark"
MOST_BYTES = 3_000_000
QUICK = {"sizes": [0.01], "executors": [1, 2], "repeats": 1, "queries": [1, 3, 6]}
QUIET_LOAD = 0.3
NAME = re.compile(r"tpch-(?P<size>[\d.]+)g-q(?P<query>\d+)")


def main() -> None:
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.5, 1, 2, 5], help="scale factors, about GB each")
    parser.add_argument("--executors", type=int, nargs="+", default=[n for n in (1, 2, 4, 8, 16, 32) if n <= cores])
    parser.add_argument("--queries", type=int, nargs="+", default=list(range(1, 23)))
    parser.add_argument("--repeats", type=int, default=2, help="runs of each")
    parser.add_argument("--samples", type=int, default=24, help="durations kept of a stage, wave and executor count")
    parser.add_argument("--out", type=Path, default=Path("runs/spark_tpch"), help="data, event logs, the workload")
    parser.add_argument("--quick", action="store_true", help="three queries of 10 MB, once")
    parser.add_argument("--anyway", action="store_true", help="measure, though the machine is busy or has fewer cores")
    parser.add_argument(
        "--write", action="store_true", help=f"ship the workload: {TARGET.relative_to(FOLDER.parents[2])}"
    )
    args = parser.parse_args()
    for name, value in QUICK.items() if args.quick else ():
        setattr(args, name, value)
    if args.quick and args.write:
        parser.error("--quick measures too little to be shipped; leave out --quick or --write")
    require("pyspark", "the measurement")
    require_quiet(args, cores)
    for size in args.sizes:
        generate(args.out / "data", size)
    measure(args)
    catalogue, notes = distil(args)
    ship(args, catalogue, notes, cores)


def require_quiet(args: argparse.Namespace, cores: int) -> None:
    load = os.getloadavg()[0]
    problem = ""
    if max(args.executors) > cores:
        problem = f"{max(args.executors)} executors of one core on {cores} cores"
    elif load > QUIET_LOAD:
        problem = f"this machine is busy (load {load:.1f})"
    if problem and not args.anyway:
        raise SystemExit(f"{problem}: durations would be too long; --anyway measures nevertheless")
    if problem:
        print(f"{problem}: durations will be too long", file=sys.stderr)


def generate(data: Path, size: float) -> None:
    """The tables, a Parquet file each."""
    folder = data / f"{size:g}"
    if folder.is_dir():
        return
    tool = shutil.which("tpchgen-cli", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if tool is None:
        raise SystemExit("tpchgen-cli is not installed; pip install 'dovetail[bench]' brings it")
    print(f"making the tables of scale factor {size:g}", file=sys.stderr)
    partial = data / f".{size:g}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    subprocess.run([tool, "parquet", "-s", f"{size:g}", "-o", str(partial), "-q"], check=True)
    partial.rename(folder)


def measure(args: argparse.Namespace) -> None:
    """Runs what has no event log yet."""
    from tpch.standalone import Standalone

    events = args.out / "events"
    events.mkdir(parents=True, exist_ok=True)
    batches = [
        (
            size,
            executors,
            [run for run in names(args, size, executors) if not (events / run.partition(":")[2]).exists()],
        )
        for size in args.sizes
        for executors in args.executors
    ]
    missing = sum(len(runs) for _, _, runs in batches)
    if not missing:
        return
    done = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    with Standalone(max(args.executors)) as spark:
        for size, executors, runs in batches:
            if not runs:
                continue
            words = [sys.executable, str(Path(__file__).parent / "tpch" / "driver.py"), "--master", spark.url]
            words += ["--data", str(args.out / "data" / f"{size:g}"), "--events", str(events)]
            words += ["--executors", str(executors), "--size", f"{size:g}", "--runs", *runs]
            driver = spark.run(words)
            for line in driver.stdout or ():
                name, took_s, rows = line.split()
                done += 1
                print(f"{done} of {missing}: {name}: {took_s} s, {rows} rows", file=sys.stderr)
            if driver.wait() != 0:
                raise SystemExit(
                    f"the driver of {executors} executors ended with {driver.returncode}; what is done is kept"
                )


def names(args: argparse.Namespace, size: float, executors: int) -> Iterator[str]:
    for repeat in range(args.repeats):
        for query in args.queries:
            yield f"{query}:tpch-{size:g}g-q{query}-on-{executors}-run-{repeat + 1}"


def distil(args: argparse.Namespace) -> tuple[DagCatalogue, Sequence[str]]:
    """The commonest shape of each query and size, by size and query."""
    imported = read_spark_eventlog(args.out / "events", SparkOptions(merge_runs=True, samples=args.samples))
    catalogue = imported.source.catalogue
    found = [(NAME.fullmatch(name), dag) for dag, name in enumerate(catalogue.dag_name)]
    kept = sorted(
        (float(match["size"]), int(match["query"]), dag)
        for match, dag in found
        if match and float(match["size"]) in args.sizes and int(match["query"]) in args.queries
    )
    if len(kept) < len(args.sizes) * len(args.queries):
        raise DovetailError(f"{len(kept)} kinds of query in {args.out}, fewer than were asked for")
    others = sum(match is None for match, _ in found)
    notes = [*imported.notes, *([f"{others} other plans of the same queries were left out"] if others else [])]
    return replace(catalogue.select([dag for _, _, dag in kept]), name="tpch-spark"), notes


def ship(args: argparse.Namespace, catalogue: DagCatalogue, notes: Sequence[str], cores: int) -> None:
    from tpch.tpch_on_spark import CONFIGURATION

    provenance = {
        "command": "experiments/spark_tpch.py",
        "parameters": {name: getattr(args, name) for name in ("sizes", "executors", "queries", "repeats", "samples")},
        "spark": {"version": version("pyspark"), "configuration": CONFIGURATION},
        "machine": {"cores": cores, "architecture": platform.machine()},
        "notes": list(notes),
    }
    folder = TARGET if args.write else args.out / "workload"
    write_source(DagSource("tpch-spark", catalogue), folder, provenance=provenance, force=True)
    size = sum(file.stat().st_size for file in folder.iterdir())
    if size > MOST_BYTES:
        raise SystemExit(f"{folder} has {size:,} bytes, more than {MOST_BYTES:,}; fewer --samples make it smaller")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"wrote {folder}: {size:,} bytes", file=sys.stderr)
    rows = [row(args, catalogue, size) for size in args.sizes]
    head = [
        "scale factor",
        "stages",
        "depth",
        "tasks",
        *(f"work at {n}, s" for n in args.executors),
        "critical path, s",
    ]
    text = f"Of {len(args.queries)} queries, on {cores} cores, {args.repeats} runs each; means.\n\n" + table(head, rows)
    publish("spark_tpch", "TPC-H on Spark, as measured for `tpch-spark`", text, write=args.write)


def row(args: argparse.Namespace, catalogue: DagCatalogue, size: float) -> list[str]:
    own = np.array([name.startswith(f"tpch-{size:g}g-q") for name in catalogue.dag_name])
    work_s = [dag_work_at_s(catalogue, executors)[own].mean() for executors in args.executors]
    shape = (catalogue.dag_stages, catalogue.dag_depth, catalogue.dag_tasks)
    means = [f"{values[own].mean():.1f}" for values in shape]
    return [f"{size:g}", *means, *(f"{s:.1f}" for s in work_s), f"{catalogue.dag_critical_path_s[own].mean():.1f}"]


if __name__ == "__main__":
    main()
