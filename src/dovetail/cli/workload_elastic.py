"""`dovetail workload` for elastic training jobs."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.core.elastic import Floats
    from dovetail.workloads.elastic_source import ElasticSource
    from dovetail.workloads.readers.imported import Imported

DESCRIBE = {"servers": None, "slots": None, "jobs": None, "seed": 0}
GENERATE = {"slots": None}
IMPORT = {
    "elastic-csv": ("slot_s", "slots", "servers"),
    "arrival-counts": ("slot_s", "pattern", "times", "jobs_from"),
    "elastic-speeds": ("jobs_from", "at"),
}
"""Options that mean something here only: of `describe` and `generate` with their defaults, of `import` by reader."""

COUNTS_FOR = "oasis-paper"
SPEEDS_FOR = "oasis-small:slot_s=60"  # measured mini-batches take seconds, so slots of minutes hold few enough of them


def describe(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The summary, as plain values and as text; draws the picture that is asked for."""
    from dovetail.workloads.elastic_describe import describe_elastic, elastic_as_text
    from dovetail.workloads.elastic_source import open_elastic

    source = open_elastic(args.workload)
    worker_capacity, server_capacity = _capacities(source.servers if args.servers is None else args.servers)
    setting: dict[str, Any] = {"jobs": args.jobs, "slots": args.slots, "seed": args.seed}
    setting |= {"worker_capacity": worker_capacity, "server_capacity": server_capacity}
    summary = describe_elastic(source, **setting)
    if args.plot is not None:
        from dovetail.workloads.elastic_plot import save_elastic_plot

        save_elastic_plot(source, args.plot, **setting)
    return summary, elastic_as_text(summary)


def generate(args: argparse.Namespace) -> tuple[ElasticSource, dict[str, Any]]:
    """A sequence and its history as a recorded source, and how it was made."""
    from dovetail.core.config import to_plain
    from dovetail.core.seeds import SeedTree
    from dovetail.workloads.elastic_arrivals import ElasticArrivals, read_arrivals
    from dovetail.workloads.elastic_source import ElasticSource, open_elastic

    source = open_elastic(args.workload)
    jobs = source.jobs if args.jobs is None else args.jobs
    slots = source.slots if args.slots is None else args.slots
    arrivals = source.arrivals if args.arrivals is None else read_arrivals(args.arrivals)
    record, history = source.records(jobs, arrivals, slots, SeedTree(args.seed))
    made = ElasticSource(
        name=source.name,
        jobs=jobs,
        slots=slots,
        slot_s=source.slot_s,
        servers=source.servers,
        arrivals=ElasticArrivals("trace"),
        recorded=record,
        earlier=history,
    )
    how = {"jobs": jobs, "slots": slots, "seed": args.seed, "arrivals": to_plain(arrivals)}
    return made, {"command": "generate", "source": source.name, **how}


def read_foreign(args: argparse.Namespace) -> Imported[ElasticSource]:
    if args.source == "elastic-csv":
        from dovetail.workloads.readers.elastic_csv import ElasticCsvOptions, read_elastic_csv

        given = {name: getattr(args, name) for name in IMPORT["elastic-csv"] if getattr(args, name) is not None}
        return read_elastic_csv(args.path, ElasticCsvOptions(**given))
    if args.source == "arrival-counts":
        return _read_counts(args)
    if args.source == "elastic-speeds":
        return _read_speeds(args)
    from dovetail.workloads.readers.elastic_native import read_edited_elastic

    return read_edited_elastic(args.path)


def _read_counts(args: argparse.Namespace) -> Imported[ElasticSource]:
    from dovetail.workloads.elastic_arrivals import ElasticArrivals
    from dovetail.workloads.elastic_source import open_bundled
    from dovetail.workloads.readers.arrival_counts import read_counts
    from dovetail.workloads.readers.imported import Imported

    source = open_bundled(args.jobs_from or COUNTS_FOR)
    slot_s = source.slot_s if args.slot_s is None else args.slot_s
    found = read_counts(args.path, pattern=args.pattern, slot_s=slot_s, times=args.times)
    note = (
        f"{sum(found.counts):,.0f} arrivals in {len(found.counts):,} slots; jobs are drawn from {source.name}, and the "
        "series is stretched over the slots and scaled to the jobs that are asked for"
    )
    arrivals = ElasticArrivals("counts", counts=found.counts)
    return Imported(replace(source, name=args.path.stem, arrivals=arrivals), (*found.notes, note))


def _read_speeds(args: argparse.Namespace) -> Imported[ElasticSource]:
    from dovetail.cluster.elastic_speed import fit_speed, held_out_error
    from dovetail.cluster.elastic_speed_file import read_speeds
    from dovetail.workloads.elastic_source import ElasticKind, open_bundled
    from dovetail.workloads.readers.imported import Imported

    workers, servers = _allocation(args.at)
    source = open_bundled(args.jobs_from or SPEEDS_FOR)
    measured = read_speeds(args.path)
    models = [model for model, _, _ in measured.points]
    kinds, notes = [], []
    for (model, mode, batch), points in measured.points.items():
        name = model if models.count(model) == 1 else f"{model} {mode} {batch}"
        fit = fit_speed(mode, points)
        kinds.append(ElasticKind(name, fit.model.worker_s(workers, servers), 0.0))
        beyond = _held_out(held_out_error(mode, points))
        notes.append(
            f"{name} ({mode}, batches of {batch}): {fit.points} measurements fitted with a median error of "
            f"{fit.median_error:.1%} (nine in ten within {fit.p90_error:.0%}{beyond}); a batch takes a worker "
            f"{kinds[-1].batch_s:.3g} s with {workers} workers and {servers} parameter servers, transfers included"
        )
    if measured.left_out:
        notes.append(f"{measured.left_out} measurements in which a worker did nothing were left out")
    return Imported(replace(source, name=args.path.stem, kinds=tuple(kinds)), tuple(notes))


def _held_out(error: float) -> str:
    return "" if math.isnan(error) else f"; {error:.1%} for numbers of workers and servers left out of the fit"


def _allocation(text: str | None) -> tuple[int, int]:
    try:
        workers, servers = (int(part) for part in (text or "4,4").split(","))
    except ValueError:
        raise ConfigError(f"--at: workers and parameter servers between a comma are needed, not {text!r}") from None
    if workers < 1 or servers < 1:
        raise ConfigError(f"--at is {text}; expected at least 1 worker and 1 parameter server")
    return workers, servers


def _capacities(servers: int) -> tuple[Floats, Floats]:
    """Half of the hosts for workers, half for parameter servers."""
    from dovetail.cluster.elastic import ElasticCluster

    if servers < 2:
        raise ConfigError(f"--servers is {servers}; expected at least 2, one for workers and one for parameter servers")
    return ElasticCluster(servers - servers // 2, servers // 2).capacities()
