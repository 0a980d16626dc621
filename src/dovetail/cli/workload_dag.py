"""`dovetail workload` for batch jobs that are dags of stages."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.workloads.arrivals import Arrivals, Deadlines
    from dovetail.workloads.readers.imported import Imported
    from dovetail.workloads.source import DagSource

DESCRIBE = {"executors": 50, "interval": 25.0}
GENERATE = {"interval": None, "load": None, "executors": 50, "weights": None, "deadlines": None}
IMPORT = {
    "tpch": ("memory_seed",),
    "alibaba2018": ("strict", "skip_faulty", "one_core"),
    "spark-eventlog": ("jobs_are", "application", "merge_runs", "samples", "one_core"),
}
"""Options that mean something here only: of `describe` and `generate` with their defaults, of `import` by reader."""


def describe(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The summary, as plain values and as text; draws the picture that is asked for."""
    from dovetail.workloads.describe import as_text, describe
    from dovetail.workloads.source import open_source

    source = open_source(args.workload)
    summary = describe(source, executors=args.executors, interval_s=args.interval)
    if args.plot is not None:
        from dovetail.workloads.plot import save_plot

        save_plot(source, args.plot)
    return summary, as_text(summary)


def generate(args: argparse.Namespace) -> tuple[DagSource, dict[str, Any]]:
    """The source to be stored, and how it was made."""
    from dovetail.core.config import to_plain
    from dovetail.core.seeds import SeedTree
    from dovetail.workloads.source import DagSource, open_source

    arrivals, weights, deadlines = _arrivals(args), _weights(args.weights), _deadlines(args)
    source = open_source(args.workload)
    made: dict[str, Any] = {"command": "generate", "source": source.name}
    if args.jobs is not None:
        workload = source.sequence(
            args.jobs, arrivals, SeedTree(args.seed), weights=weights, deadlines=deadlines
        ).compact()
        source = DagSource(source.name, workload.catalogue, workload)
        made |= {
            "jobs": args.jobs,
            "seed": args.seed,
            "arrivals": to_plain(arrivals),
            "weights": weights,
            "deadlines": to_plain(deadlines),
        }
    return source, made


def read_foreign(args: argparse.Namespace) -> Imported[DagSource]:
    if args.source == "tpch":
        from dovetail.workloads.readers.tpch import read_tpch

        return read_tpch(args.path, memory_seed=args.memory_seed)
    if args.source == "alibaba2018":
        from dovetail.workloads.readers.alibaba2018 import Alibaba2018Options, read_alibaba2018

        options = Alibaba2018Options(bool(args.strict), bool(args.skip_faulty), bool(args.one_core))
        return read_alibaba2018(args.path, options)
    if args.source == "spark-eventlog":
        from dovetail.workloads.readers.spark_eventlog import SparkOptions, read_spark_eventlog

        return read_spark_eventlog(
            args.path,
            SparkOptions(
                jobs_are=args.jobs_are or SparkOptions.jobs_are,
                application=args.application,
                merge_runs=bool(args.merge_runs),
                samples=args.samples,
                one_core=bool(args.one_core),
            ),
        )
    from dovetail.workloads.readers.native import read_edited

    return read_edited(args.path)


def _arrivals(args: argparse.Namespace) -> Arrivals:
    from dovetail.workloads.arrivals import Arrivals

    timed = args.interval is not None or args.load is not None
    if args.jobs is None and (timed or args.arrivals or args.weights or args.deadlines):
        raise ConfigError("--arrivals, --interval, --load, --weights and --deadlines need --jobs")
    if args.executors < 1:
        raise ConfigError(f"--executors is {args.executors}; expected at least 1")
    kind = args.arrivals or ("poisson" if timed else "batch")
    return Arrivals(kind, args.interval, args.load, args.executors if args.load is not None else None)


def _weights(text: str | None) -> tuple[float, ...] | None:
    return None if text is None else _numbers("--weights", text)


def _deadlines(args: argparse.Namespace) -> Deadlines | None:
    from dovetail.workloads.arrivals import Deadlines

    if args.deadlines is None:
        return None
    factors = _numbers("--deadlines", args.deadlines)
    if len(factors) != 2:
        raise ConfigError(f"--deadlines: two factors LOW,HIGH are needed, not {args.deadlines!r}")
    return Deadlines(factors[0], factors[1], args.executors)


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"{option}: numbers between commas are needed, not {text!r}") from None
