"""`dovetail simulate`: one scheduler on one job sequence, and the record of it."""

from __future__ import annotations

import argparse
import json
import shlex
from math import isfinite
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import Arguments, add_output, read_arguments
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note, open_run_set, run_visibly, tell_failures
from dovetail.cli.options import add_family, arguments_of, examples, first_family

if TYPE_CHECKING:
    from dovetail.evaluation.matrix_cell import Row
    from dovetail.evaluation.setting import OpenSetting


family_of = first_family


def configure(parser: argparse.ArgumentParser, family: str | None) -> None:
    kind = add_family(parser, family)
    example = examples(kind).rpartition(",")[2]
    parser.add_argument("--scheduler", required=True, metavar="NAME", help=f"such as {example}")
    parser.add_argument("--seed", type=int, metavar="K", help="of the job sequence and everything drawn (0)")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.matrix import Matrix
    from dovetail.evaluation.matrix_results import MatrixResults

    asked = read_arguments(arguments_of(args.family), args, seeds=1)
    contender = Contender.of(args.scheduler, asked.FAMILY)
    opened = asked.setting().open()
    writer = open_run_set(opened, asked, args, _command(asked, contender.spec), notes=asked.notes([contender]))
    matrix = Matrix((contender,), (asked.seed,), keep=writer is not None)
    results = MatrixResults(matrix, writer, resume=False)
    if not run_visibly(opened, matrix, results, workers=1):
        note("interrupted; nothing was kept")
        return EXIT_INTERRUPTED
    for text in sorted(results.notes):
        note(text)
    tell_failures(results.failures)
    if results.failures:
        return EXIT_FAILED
    row = results.row(contender, asked.seed)
    print(json.dumps(_as_json(opened, row), indent=2, ensure_ascii=False) if args.json else _as_text(row))
    if args.out is not None:
        note(f"records: {args.out}; `dovetail report {args.out}` draws them")
    return 0


def _command(asked: Arguments, spec: str) -> str:
    words = asked.command(f"simulate {asked.FAMILY}", seeds=None, schedulers=None)
    return f"{words} --scheduler {shlex.quote(spec)}"


def _as_json(opened: OpenSetting, row: Row) -> dict[str, Any]:
    from dovetail.records.manifest import plain

    return {
        "schema": 1,
        "family": row.contender.family,
        "workload": opened.facts(),
        "options": plain(opened.options),
        "scheduler": row.contender.name,
        "params": dict(row.contender.params),
        "seed": row.seed,
        "metrics": {name: value if isfinite(value) else None for name, value in row.metrics.items()},
        "events": row.events,
        "decisions": row.decisions,
        "decision_s": row.timings.get("decision_s"),
    }


def _as_text(row: Row) -> str:
    from dovetail.evaluation.family import family_named
    from dovetail.evaluation.report.text import duration, number

    metrics = family_named(row.contender.family).metrics
    width = max(len(metric.title) for metric in metrics.values())
    lines = [f"{row.contender.spec}, seed {row.seed}: {row.events:,} events, {row.decisions:,} decisions"]
    for name, value in row.metrics.items():
        metric = metrics[name]
        unit = f" {metric.unit}" if metric.unit else ""
        lines.append(f"  {metric.title:<{width}}  {number(value, metric)}{unit}")
    if "decision_s" in row.timings:
        lines.append(f"  {'per decision':<{width}}  {duration(row.timings['decision_s'])}")
    return "\n".join(lines)
