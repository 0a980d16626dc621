"""`dovetail calibrate flink`: watches a job on a Flink cluster and makes a stream workload that is like it."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.flink_job import choose_job, connect
from dovetail.cli.matrix_progress import note
from dovetail.cli.signals import terminable
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.execution.engines.flink.job import FlinkJob
    from dovetail.execution.engines.flink.watch import Watch

ENGINES = ("flink",)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Watch a running job and write a workload that is like it, to compare, tune and train autoscalers on. It "
        "touches nothing, unless --rescales asks for it."
    )
    parser.add_argument("engine", metavar="flink", help="(the word `flink`)")
    parser.add_argument(
        "--flink", required=True, metavar="URL", help="the job manager's, such as http://localhost:8081"
    )
    parser.add_argument("--job", metavar="J", help="id or name (the only one that runs)")
    parser.add_argument("--for", dest="for_s", type=float, default=600.0, metavar="S", help="seconds to watch (600)")
    parser.add_argument("--snapshot", type=float, default=10.0, metavar="S", help="seconds between two looks (10)")
    parser.add_argument(
        "--interval", type=float, metavar="S", help="between decisions, in the workload (six snapshots)"
    )
    parser.add_argument("--slo", type=float, default=5.0, metavar="S", help="latency that its users wait for (5)")
    parser.add_argument(
        "--rescales", type=int, default=0, metavar="N", help="rescale the job N times, and back, to measure that (0)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the workload goes")
    parser.add_argument("--force", action="store_true", help="replace a workload that is there")


def run(args: argparse.Namespace) -> int:
    from dovetail.execution.engines.flink.calibrate import LEAST_SNAPSHOTS, fit
    from dovetail.execution.engines.flink.watch import Watch
    from dovetail.workloads.store import require_target
    from dovetail.workloads.stream_store import write_stream

    if args.engine not in ENGINES:
        raise UnknownName("engine", args.engine, ENGINES)
    options = _options(args)
    if not LEAST_SNAPSHOTS * args.snapshot <= args.for_s < math.inf:
        least_s = LEAST_SNAPSHOTS * args.snapshot
        raise ConfigError(f"--for {args.for_s:g}; expected {least_s:g} seconds at least, {LEAST_SNAPSHOTS} snapshots")
    if not 0 <= args.rescales <= 100:
        raise ConfigError(f"--rescales {args.rescales}; expected 0 to 100")
    require_target(args.out, force=args.force)
    client, cluster = connect(args.flink)
    job = choose_job(client, args.job)
    checkpoint_s = client.checkpoint_s(job.job_id)
    if args.rescales and not (job.adaptive and checkpoint_s > 0.0):
        raise ConfigError(
            f"--rescales {args.rescales}: job {job.name} has no adaptive scheduler, or takes no checkpoints"
        )
    note(f"Flink {cluster.version}, {job.name}: watching for {args.for_s:g} s")
    watch = Watch(client, job, options)
    with terminable():
        watch.run(args.for_s, args.rescales)
    assert watch.info is not None
    fitted = fit(
        job.name, watch.info, watch.rows, watch.newest, watch.stops_s, checkpoint_s, client.state_bytes(job.job_id)
    )
    for text in fitted.notes:
        note(text)
    made = {
        "command": "calibrate flink",
        "engine": f"Flink {cluster.version}",
        "job": job.name,
        "watched_s": args.for_s,
    }
    made |= {"snapshots": len(watch.rows), "rescales": len(watch.stops_s), "assumed": list(fitted.notes)}
    write_stream(fitted.source, args.out, provenance=made, force=args.force)
    _print(fitted.source.table, watch, job)
    print(f"wrote {args.out}; see: dovetail workload describe {args.out}")
    return 0


def _options(args: argparse.Namespace) -> Any:
    from dovetail.execution.engines.flink.messages import FlinkOptions

    interval_s = 6.0 * args.snapshot if args.interval is None else args.interval
    return FlinkOptions(snapshot_s=args.snapshot, interval_s=interval_s, slo_s=args.slo, latency="queues")


def _print(table: Any, watch: Watch, job: FlinkJob) -> None:
    width = max(len(name) for name in table.op_name)
    print(f"{'operator':<{width}}  instances  service time, ms  selectivity  skew  state, MB")
    for i, name in enumerate(table.op_name):
        print(
            f"{name:<{width}}  {table.op_start[i]:>9}  {1000 * table.op_service_s[i]:>16.4g}  "
            f"{table.op_selectivity[i]:>11.4g}  {table.op_skew[i]:>4.2f}  {table.op_state_mb[i]:>9.4g}"
        )
    rescales = f"{table.job_restart_s[0]:.3g} s, median of {len(watch.stops_s)}" if watch.stops_s else "not seen"
    print(f"{job.name}: {table.job_rate[0]:,.4g} records/s on average; a rescale takes {rescales}")
