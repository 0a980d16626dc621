"""`dovetail simulate`: one scheduler on one job sequence, and the record of it."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import TYPE_CHECKING, Any

from dovetail.cli.dag_options import DagArguments, add_family, add_output, add_setting, read_arguments
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note, open_run_set, run_visibly, tell_failures

if TYPE_CHECKING:
    from dovetail.evaluation.matrix_cell import OpenSetting, Row


def configure(parser: argparse.ArgumentParser) -> None:
    add_family(parser)
    add_setting(parser)
    parser.add_argument("--scheduler", required=True, metavar="NAME", help="such as dag/weighted-fair:alpha=-1")
    parser.add_argument("--seed", type=int, metavar="K", help="of the job sequence and everything drawn (0)")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.matrix import Matrix
    from dovetail.evaluation.matrix_results import MatrixResults

    asked = read_arguments(args, seeds=1)
    contender = Contender.of(args.scheduler)
    opened, writer = open_run_set(asked, args, _command(asked, contender.spec))
    matrix = Matrix((contender,), (asked.seed,), keep=writer is not None)
    results = MatrixResults(matrix, writer, resume=False)
    if not run_visibly(opened, matrix, results, workers=1):
        note("interrupted; nothing was kept")
        return EXIT_INTERRUPTED
    tell_failures(results.failures)
    if results.failures:
        return EXIT_FAILED
    row = results.row(contender, asked.seed)
    print(json.dumps(_as_json(opened, row), indent=2, ensure_ascii=False) if args.json else _as_text(row))
    if args.out is not None:
        note(f"records: {args.out}; `dovetail report {args.out}` draws them")
    return 0


def _command(asked: DagArguments, spec: str) -> str:
    return f"{asked.command('simulate dag', seeds=None, schedulers=None)} --scheduler {shlex.quote(spec)}"


def _as_json(opened: OpenSetting, row: Row) -> dict[str, Any]:
    from dovetail.records.manifest import plain

    return {
        "schema": 1,
        "family": "dag",
        "workload": opened.facts(),
        "options": plain(opened.setting.options),
        "scheduler": row.contender.name,
        "params": dict(row.contender.params),
        "seed": row.seed,
        "metrics": dict(row.metrics),
        "events": row.events,
        "decisions": row.decisions,
        "decision_s": row.timings.get("decision_s"),
    }


def _as_text(row: Row) -> str:
    from dovetail.evaluation.metrics_dag import METRICS
    from dovetail.evaluation.report.text import duration, number

    width = max(len(metric.title) for metric in METRICS.values())
    lines = [f"{row.contender.spec}, seed {row.seed}: {row.events:,} events, {row.decisions:,} decisions"]
    for name, value in row.metrics.items():
        metric = METRICS[name]
        unit = f" {metric.unit}" if metric.unit else ""
        lines.append(f"  {metric.title:<{width}}  {number(value, name)}{unit}")
    if "decision_s" in row.timings:
        lines.append(f"  {'per decision':<{width}}  {duration(row.timings['decision_s'])}")
    return "\n".join(lines)
