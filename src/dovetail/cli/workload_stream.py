"""`dovetail workload` for streaming jobs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.workloads.readers.imported import Imported
    from dovetail.workloads.stream_rates import RecordedRates
    from dovetail.workloads.stream_source import StreamSource

DESCRIBE = {"rates": None, "duration": None, "seed": 0}
GENERATE = {"rates": None, "duration": None}
IMPORT = {
    "rates": ("from", "to", "bin_s", "step_s", "start", "time_column", "count_column"),
    "stream-alibaba": ("jobs", "operators", "seed", "rate", "rates", "demand", "runtime", "skip_faulty"),
}
"""Options that mean something here only: of `describe` and `generate` with their defaults, of `import` by reader."""


def describe(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The summary, as plain values and as text; draws the picture that is asked for."""
    from dovetail.workloads.stream_describe import describe_rates, describe_stream, stream_as_text
    from dovetail.workloads.stream_rates import RecordedRates

    source = _either(args)
    if isinstance(source, RecordedRates):
        summary = describe_rates(source)
    else:
        summary = describe_stream(source, duration_s=args.duration, seed=args.seed)
    if args.plot is not None:
        from dovetail.workloads.stream_plot import save_stream_plot

        save_stream_plot(source, args.plot, duration_s=args.duration, seed=args.seed)
    return summary, stream_as_text(summary)


def generate(args: argparse.Namespace) -> tuple[StreamSource, dict[str, Any]]:
    """A sequence as a recorded source, and how it was made."""
    from dovetail.core.seeds import SeedTree
    from dovetail.workloads.stream_jobs import jobs_of
    from dovetail.workloads.stream_rates import RateSeries, RecordedRates
    from dovetail.workloads.stream_source import StreamSource, open_stream

    for name in ("jobs", "arrivals"):
        if getattr(args, name) is not None:
            raise ConfigError(f"--{name} means nothing to stream workloads; --duration and --rates do")
    source = open_stream(args.workload, args.rates)
    work = source.sequence(args.duration, SeedTree(args.seed))
    rates = RecordedRates(source.name, RateSeries(work.job_name, work.bin_s, work.clock_s, work.rate))
    made = StreamSource(source.name, jobs_of(work), rates, work.duration_s, source.interval_s)
    how = {"duration_s": work.duration_s, "seed": args.seed, "rates": source.rates.name, "jitter": source.jitter}
    return made, {"command": "generate", "source": source.name, **how}


def read_foreign(args: argparse.Namespace) -> Imported[StreamSource] | Imported[RecordedRates]:
    asked = {name: getattr(args, name) for name in IMPORT.get(args.source, ())}
    given = {name: value for name, value in asked.items() if value is not None}
    if args.source == "rates":
        from dovetail.workloads.readers.stream_rates import RateOptions, read_rates_file

        names = {"from": "start", "to": "end", "start": "begins"}
        return read_rates_file(args.path, RateOptions(**{names.get(name, name): given[name] for name in given}))
    if args.source == "stream-alibaba":
        from dovetail.workloads.readers.stream_alibaba import StreamAlibabaOptions, read_stream_alibaba

        if "operators" in given:
            given["operators"] = _range(given["operators"])
        return read_stream_alibaba(args.path, StreamAlibabaOptions(**given))
    from dovetail.workloads.readers.stream_native import read_edited_stream

    return read_edited_stream(args.path)


def _either(args: argparse.Namespace) -> StreamSource | RecordedRates:
    """What is to be described: a workload, or a directory of rates without jobs."""
    from dovetail.workloads.readers.stream_native import read_either
    from dovetail.workloads.stream_rates import RecordedRates
    from dovetail.workloads.stream_source import STREAM, open_stream

    if args.workload not in STREAM and Path(args.workload).is_dir():
        found = read_either(Path(args.workload))
        if isinstance(found, RecordedRates):
            for name in ("rates", "duration"):
                if getattr(args, name) is not None:
                    raise ConfigError(f"--{name} is for workloads with jobs; {args.workload} has rates only")
            return found
    return open_stream(args.workload, args.rates)


def _range(text: str) -> tuple[int, int]:
    try:
        low, high = (int(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--operators {text}: expected two whole numbers between a comma, such as 4,40") from None
    return low, high
