"""`dovetail autoscale`: sets the parallelism of a job on a Flink cluster, by any `stream/...` scheduler."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.flink_job import choose_job, connect
from dovetail.cli.matrix_progress import COMPILING, note
from dovetail.cli.signals import terminable
from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.engines.flink.client import Cluster, FlinkClient
    from dovetail.execution.engines.flink.job import FlinkJob
    from dovetail.execution.engines.flink.loop import FlinkLoop
    from dovetail.execution.engines.flink.messages import Bound, FlinkOptions
    from dovetail.records.writer import RecordWriter

DEFAULT_SCHEDULER, DEFAULT_FALLBACK = "stream/quantile", "stream/hpa"
FETCHED_EVERY = "metrics.fetcher.update-interval"
FETCHED_EVERY_S = 10.0  # by default


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Watch a job on a Flink cluster with the adaptive scheduler, and say which operators should have more or fewer "
        "instances, and why. With --act, have it done."
    )
    parser.add_argument(
        "--flink", required=True, metavar="URL", help="the job manager's, such as http://localhost:8081"
    )
    parser.add_argument("--job", metavar="J", help="id or name (the only one that runs)")
    parser.add_argument("--scheduler", default=DEFAULT_SCHEDULER, metavar="NAME", help=f"({DEFAULT_SCHEDULER})")
    parser.add_argument(
        "--fallback", default=DEFAULT_FALLBACK, metavar="NAME", help=f"decides while metrics miss ({DEFAULT_FALLBACK})"
    )
    how = parser.add_argument_group("what is done")
    how.add_argument("--act", action="store_true", help="rescale; without, it is only said what would be done")
    how.add_argument("--interval", type=float, default=60.0, metavar="S", help="seconds between two decisions (60)")
    how.add_argument("--snapshot", type=float, default=10.0, metavar="S", help="seconds between two looks (10)")
    how.add_argument("--history", type=int, default=60, metavar="N", help="snapshots that schedulers see (60)")
    how.add_argument("--once", action="store_true", help="decide once")
    how.add_argument("--for", dest="for_s", type=float, metavar="S", help="end after so many seconds (never)")
    rails = parser.add_argument_group("guard rails")
    rails.add_argument("--min", type=int, default=1, metavar="N", help="instances of an operator, at least (1)")
    rails.add_argument("--max", type=int, metavar="N", help="at most (what Flink can give)")
    rails.add_argument(
        "--bounds", action="append", default=[], metavar="OPERATOR=LOW..HIGH", help="of one operator, such as map=2..8"
    )
    rails.add_argument("--instances", type=int, metavar="N", help="of all operators together, at most (no limit)")
    rails.add_argument("--cooldown", type=float, default=300.0, metavar="S", help="between two rescales (300)")
    rails.add_argument("--max-rescales", type=int, default=6, metavar="N", help="in any hour (6)")
    rails.add_argument(
        "--rollback", default="2", metavar="X", help="undo a rescale if latency is X times as long; off: never (2)"
    )
    rails.add_argument("--rollback-after", type=float, metavar="S", help="when that is judged (an interval)")
    rails.add_argument("--missing", type=int, default=3, metavar="N", help="snapshots without metrics: fallback (3)")
    rails.add_argument("--patience", type=float, default=120.0, metavar="S", help="for a rescale to happen (120)")
    know = parser.add_argument_group("what is known")
    know.add_argument("--slo", type=float, default=5.0, metavar="S", help="latency that its users wait for (5)")
    know.add_argument("--weight", type=float, default=0.7, metavar="W", help="of latency in the reward (0.7)")
    know.add_argument("--restart", type=float, metavar="S", help="what a rescale takes, until one was measured (1)")
    know.add_argument(
        "--latency", default="auto", metavar="HOW", help="markers, queues, or markers if there are (auto)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of everything the scheduler draws (0)")
    parser.add_argument("--metrics-port", type=int, metavar="N", help="serve Prometheus metrics on loopback (do not)")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of text")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep a record, and the JSON lines, there")


def run(args: argparse.Namespace) -> int:
    from dovetail.execution.engines.flink.controller import FlinkController
    from dovetail.execution.engines.flink.loop import FlinkLoop, Notes
    from dovetail.execution.engines.flink.prometheus import MetricsServer

    options = _options(args)
    contender, fallback = _contender(args.scheduler, "--scheduler"), _contender(args.fallback, "--fallback")
    client, cluster = connect(args.flink)
    job = choose_job(client, args.job)
    _check_job(client, job, options)
    checkpoint_s = client.checkpoint_s(job.job_id)
    for one in (contender, fallback):
        _rehearse(one)
    writer = None if args.out is None else _writer(args, options, job, cluster)
    notes = Notes(lambda line, text: _print(args.json, line, text), args.out)
    notes.open()
    controller = FlinkController(
        contender.create(), fallback.create(), (contender.spec, fallback.spec), options, _chance(args.seed, contender)
    )
    server = None if args.metrics_port is None else MetricsServer(args.metrics_port)
    loop = FlinkLoop(client, job.job_id, controller, options, notes, contender.spec, server, checkpoint_s)
    until_s = math.inf if args.for_s is None else time.monotonic() + args.for_s
    try:
        if server is not None:
            note(f"Prometheus metrics: http://127.0.0.1:{server.start()}/metrics")
        doing = "acting" if options.act else "nothing is touched (--act acts)"
        note(f"Flink {cluster.version}, {job.name}, {contender.spec}: {doing}; Ctrl-C ends it")
        with terminable():
            loop.run(until_s, args.once)
    finally:
        if server is not None:
            server.stop()
        counts = dict(sorted(notes.counts.items()))
        text = ", ".join(f"{event} {many}" for event, many in counts.items()) or "nothing happened"
        summary = {"event": "summary", "counts": counts, "down_s": controller.down_s}
        _print(args.json, summary, f"{text}; stood still for {controller.down_s:.3g} s")
        notes.close()
        if writer is not None:
            _record(writer, loop, contender)
    return 0


def _options(args: argparse.Namespace) -> FlinkOptions:
    from dovetail.execution.engines.flink.messages import Bound, FlinkOptions

    if args.for_s is not None and not 0.0 < args.for_s < math.inf:
        raise ConfigError(f"--for {args.for_s:g}; expected seconds above 0")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}; expected 0 or more")
    if args.metrics_port is not None and not 0 <= args.metrics_port < 65536:
        raise ConfigError(f"--metrics-port {args.metrics_port}; expected 0 (any that is free) to 65535")
    if args.min < 1 or (args.max is not None and args.max < args.min):
        most = "" if args.max is None else f" and --max {args.max}"
        raise ConfigError(f"--min {args.min}{most}; expected 1 or more, and no more than --max")
    return FlinkOptions(
        act=args.act,
        interval_s=args.interval,
        snapshot_s=args.snapshot,
        history=args.history,
        slo_s=args.slo,
        weight=args.weight,
        restart_s=args.restart,
        instances=args.instances,
        bounds=(Bound("", args.min, args.max), *map(read_bound, args.bounds)),
        cooldown_s=args.cooldown,
        most_per_hour=args.max_rescales,
        rollback_factor=_factor(args.rollback),
        rollback_s=args.rollback_after,
        missing=args.missing,
        patience_s=args.patience,
        latency=args.latency,
    )


def read_bound(text: str) -> Bound:
    """`map=2..8`, `map=2..` or `map=..8`."""
    from dovetail.execution.engines.flink.messages import Bound

    name, equals, numbers = text.rpartition("=")
    low, dots, high = numbers.partition("..")
    try:
        least, most = int(low or 1), int(high) if high else None
    except ValueError:
        least, most = 0, None
    if not (name.strip() and equals and dots and least >= 1 and (most is None or most >= least)):
        raise ConfigError(f"--bounds {text}; expected OPERATOR=LOW..HIGH with 1 <= LOW <= HIGH, such as map=2..8")
    return Bound(name.strip(), least, most)


def _factor(text: str) -> float:
    if text == "off":
        return math.inf
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"--rollback {text}; expected how many times as long latency may be, or `off`") from error


def _contender(spec: str, option: str) -> Contender:
    from dovetail.evaluation.contenders import Contender

    named = spec if "/" in spec.partition(":")[0] else f"stream/{spec}"
    found = Contender.of(named, "stream")
    if getattr(type(found.create()), "CLAIRVOYANT", False):
        raise ConfigError(f"{option} {spec} has to be told the future, which no live job can; expected another one")
    return found


def _rehearse(contender: Contender) -> None:
    """What has to be compiled is compiled before a job waits for it; another of its kind decides then."""
    from dovetail.evaluation.contenders import OTHER
    from dovetail.evaluation.warm_up import after_patience
    from dovetail.execution.engines.flink.rehearsal import rehearse

    if contender.kind == OTHER:  # not ours to call more often than was asked for
        return
    with after_patience(lambda: note(COMPILING)), suppress(Exception):  # whatever is wrong comes up again
        rehearse(contender.create())


def _check_job(client: FlinkClient, job: FlinkJob, options: FlinkOptions) -> None:
    """What is wrong with this job is said before anything is touched."""
    from dovetail.execution.engines.flink.view import limits

    if not job.adaptive:
        raise ConfigError(
            f"job {job.name} ({job.job_id}) is not run by Flink's adaptive scheduler, so its parallelism cannot be "
            "changed while it runs; expected `jobmanager.scheduler: adaptive` in Flink's configuration"
        )
    limits(job, options.bounds)
    if options.act and client.checkpoint_s(job.job_id) == 0.0:
        raise ConfigError(
            f"job {job.name} takes no checkpoints, so a rescale would lose all it knows; expected "
            "`execution.checkpointing.interval` to be set, or no --act"
        )
    fetched_s = _seconds(client.setting(FETCHED_EVERY))
    if options.snapshot_s < fetched_s:
        note(
            f"--snapshot {options.snapshot_s:g} is shorter than {FETCHED_EVERY} of Flink ({fetched_s:g} s): "
            "several snapshots in a row will show the same"
        )


def _seconds(text: str | None) -> float:
    """Of a duration as Flink writes it, such as `500 ms` or `10s`."""
    if text is None:
        return FETCHED_EVERY_S
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text.strip()[len(number) :].strip()
    try:
        return float(number) * {"ms": 0.001, "": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0}[unit]
    except (ValueError, KeyError):
        return FETCHED_EVERY_S


def _chance(seed: int, contender: Contender) -> Any:
    from dovetail.core.seeds import SeedTree

    return SeedTree(seed).child("scheduler", contender.name).generator()


def _writer(args: argparse.Namespace, options: FlinkOptions, job: FlinkJob, cluster: Cluster) -> RecordWriter:
    from dovetail.core.config import to_plain
    from dovetail.execution.engines.flink.record import UNKNOWN
    from dovetail.execution.engines.flink.view import unique_names
    from dovetail.records.writer import RecordWriter

    workload = {
        "name": f"{job.name}, live",
        "engine": f"Flink {cluster.version}",
        "operators": list(unique_names(job)),
        "slots": cluster.slots,
        "unknown": UNKNOWN,
    }
    return RecordWriter.open(
        args.out,
        family="stream",
        workload=workload,
        options=to_plain(options),
        seeds=[],
        command="dovetail " + " ".join(sys.argv[1:]),
    )


def _record(writer: RecordWriter, loop: FlinkLoop, contender: Contender) -> None:
    """As the next run of this scheduler: live runs have no seed, so their number takes its place."""
    from dovetail.evaluation.metrics_stream import run_metrics

    recorder = loop.recorder
    if recorder is None or not recorder.has_intervals:
        note("no interval after the first decision was completed, so there is no record")
        return
    number = 0
    while writer.done(contender.name, number, contender.params):
        number += 1
    run = recorder.run(contender.name, number, contender.params)
    writer.add(contender.name, number, run_metrics(run), params=contender.params, kind=contender.kind, flush=False)
    writer.add_run(run)
    note(f"recorded as run {number} of {contender.spec} in {writer.directory}: dovetail report {writer.directory}")


def _print(as_json: bool, line: dict[str, Any], text: str) -> None:
    print(json.dumps(line) if as_json else f"{time.strftime('%H:%M:%S')}  {text}", flush=True)
