"""`dovetail compare`: several schedulers on the same job sequences."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dovetail.cli.dag_options import (
    DagArguments,
    add_family,
    add_matrix,
    add_output,
    add_setting,
    read_arguments,
)
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note, open_run_set, run_visibly, tell_failures
from dovetail.core.errors import UnknownName

if TYPE_CHECKING:
    from dovetail.evaluation.matrix_cell import OpenSetting
    from dovetail.evaluation.matrix_results import MatrixResults

FIRST_TRAINING_SEED = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    add_family(parser)
    add_setting(parser)
    parser.add_argument(
        "--schedulers",
        metavar="NAME,...",
        help="such as dag/fair,dag/weighted-fair:alpha=-1; heuristics: all of those (all)",
    )
    parser.add_argument("--by", metavar="METRIC", help="what is compared, such as makespan_s (avg_jct_s)")
    add_matrix(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    asked = read_arguments(args)
    yardstick = check_yardstick(args.by)
    opened, results, finished = compare(asked, args)
    show(opened, results, yardstick, as_json=args.json, finished=finished)
    if args.out is not None:
        note(f"records: {args.out}; `dovetail report {args.out}` draws them")
    if finished:
        return EXIT_FAILED if results.failures else 0
    _, seeds = results.complete()
    kept = f"kept in {args.out}: the same command goes on" if args.out else "not kept; --out DIR keeps them"
    note(
        f"interrupted after {results.rows} of {results.matrix.cells} runs; the table covers {len(seeds)} of "
        f"{asked.seeds} seeds; the runs are {kept}"
    )
    return EXIT_INTERRUPTED


def check_yardstick(name: str | None) -> str:
    from dovetail.evaluation.comparison import YARDSTICK
    from dovetail.evaluation.metrics_dag import METRICS

    lower_is_better = [metric for metric, facts in METRICS.items() if facts.unit == "s"]
    if name is not None and name not in lower_is_better:
        raise UnknownName("metric to compare by", name, lower_is_better)
    return YARDSTICK if name is None else name


def compare(
    asked: DagArguments, args: argparse.Namespace, command: str | None = None
) -> tuple[OpenSetting, MatrixResults, bool]:
    """Check everything, then run; nothing is written before all of it is known to be right."""
    from dovetail.evaluation.contenders import choose
    from dovetail.evaluation.matrix import Matrix, check_workers
    from dovetail.evaluation.matrix_results import MatrixResults
    from dovetail.schedulers import SCHEDULERS

    check_workers(args.workers)
    chosen = choose(asked.schedulers, jobs=asked.jobs)
    matrix = Matrix(chosen.contenders, asked.seed_range, keep=args.out is not None)
    notes = list(chosen.notes)
    for contender in chosen.contenders if len(asked.classes) > 1 else ():
        instead = getattr(SCHEDULERS.resolve(contender.name), "ALIKE_ONLY", None)
        if instead is not None:
            notes.append(f"where executors differ, {contender.name} {instead}")
    if asked.seed_range[-1] >= FIRST_TRAINING_SEED:
        notes.append(f"seeds from {FIRST_TRAINING_SEED} on are for tuning and training; judge on those below")
    opened, writer = open_run_set(asked, args, command or asked.command("compare dag"), notes=notes)
    results = MatrixResults(matrix, writer)
    finished = run_visibly(opened, matrix, results, args.workers)
    tell_failures(results.failures)
    return opened, results, finished


def show(opened: OpenSetting, results: MatrixResults, yardstick: str, *, as_json: bool, finished: bool) -> None:
    """The result on standard output."""
    from dovetail.cli.comparison_table import print_comparison

    comparison = results.comparison(yardstick)
    if not as_json:
        print_comparison(comparison)
        return
    document: dict[str, Any] = comparison.as_json(opened.facts())
    document["options"] = plain_options(opened)
    document["seeds"] = list(results.complete()[1])
    document["complete"] = finished and not results.failures
    document["failures"] = results.failures_json()
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def plain_options(opened: OpenSetting) -> dict[str, Any]:
    from dovetail.records.manifest import plain

    options: dict[str, Any] = plain(opened.setting.options)
    return options
