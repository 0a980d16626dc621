"""`dovetail status`: a running engine and its jobs, or one of them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from dovetail.cli.engine_options import add_address, open_client

if TYPE_CHECKING:
    from dovetail.execution.client import Client
    from dovetail.execution.status import EngineStatus, JobStatus

_CLEAR = "\033[H\033[2J"
_LATEST = 30  # jobs in the table; an engine may have had very many
_PAUSE_S = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", nargs="?", type=int, metavar="JOB", help="number of one job")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--watch", action="store_true", help="again every second, until the job has ended")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    with open_client(args) as client:
        while True:
            text, is_last = _look(client, args)
            clear = _CLEAR if args.watch and not args.json and sys.stdout.isatty() else ""
            print(clear + text, flush=True)
            if is_last or not args.watch:
                return 0
            time.sleep(_PAUSE_S)


def _look(client: Client, args: argparse.Namespace) -> tuple[str, bool]:
    if args.job is not None:
        job = client.job(args.job)
        return json.dumps(job.to_json()) if args.json else job_text(job), job.has_ended
    engine = client.status()
    return json.dumps(engine.to_json()) if args.json else engine_text(engine, time.time()), False


def engine_text(engine: EngineStatus, now_s: float) -> str:
    draining = ", draining" if engine.draining else ""
    lines = [f"{engine.scheduler}: {engine.busy} of {engine.executors} executors busy, {engine.nodes} nodes{draining}"]
    if engine.trouble:
        lines.append(f"nothing new is started: {engine.trouble}")
    shown = engine.jobs[-_LATEST:]
    if len(shown) < len(engine.jobs):
        lines.append(f"({len(engine.jobs) - len(shown)} earlier jobs are not shown)")
    rows: list[tuple[str, ...]] = [("job", "state", "tasks", "running", "time", "name")]
    for job in shown:
        spent_s = (job.ended_s or now_s) - job.submitted_s
        rows.append(
            (str(job.job), job.state, f"{job.finished}/{job.tasks}", str(job.running), f"{spent_s:.1f} s", job.name)
        )
    return "\n".join([*lines, *_table(rows)]) if shown else "\n".join([*lines, "no jobs"])


def job_text(job: JobStatus) -> str:
    rows: list[tuple[str, ...]] = [("stage", "finished", "running", "failed", "lost")]
    rows += [(s.name, f"{s.finished}/{s.tasks}", str(s.running), str(s.failed), str(s.lost)) for s in job.stages]
    lines = [f"job {job.job} ({job.name}): {job.state}", *_table(rows)]
    if job.failure is not None:
        lines.append(f"stage {job.stages[job.failure.stage].name!r}, task {job.failure.task}: {job.failure.message}")
    return "\n".join(lines)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
