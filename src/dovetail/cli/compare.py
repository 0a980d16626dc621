"""`dovetail compare`: several schedulers on the same job sequences."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import Arguments, add_matrix, add_output, read_arguments
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note, open_run_set, run_visibly, tell_failures
from dovetail.cli.options import add_family, arguments_of, examples, first_family, yardstick_of
from dovetail.core.errors import UnknownName

if TYPE_CHECKING:
    from dovetail.evaluation.matrix_results import MatrixResults
    from dovetail.evaluation.setting import OpenSetting

FIRST_TRAINING_SEED = 1000


family_of = first_family


def configure(parser: argparse.ArgumentParser, family: str | None) -> None:
    kind = add_family(parser, family)
    parser.add_argument(
        "--schedulers", metavar="NAME,...", help=f"such as {examples(kind)}; heuristics: all of those (all)"
    )
    parser.add_argument("--by", metavar="METRIC", help=f"what is compared ({yardstick_of(kind)})")
    add_matrix(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    asked = read_arguments(arguments_of(args.family), args)
    yardstick = check_metric(args.by, asked.FAMILY, "metric to compare by")
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


def check_metric(name: str | None, family: str, what: str = "metric") -> str:
    """A metric of the family; without a name, the one that schedulers are ranked by."""
    from dovetail.evaluation.family import family_named

    found = family_named(family)
    if name is not None and name not in found.metrics:
        raise UnknownName(what, name, found.metrics)
    return found.yardstick if name is None else name


def compare(
    asked: Arguments, args: argparse.Namespace, command: str | None = None
) -> tuple[OpenSetting, MatrixResults, bool]:
    """Check everything, then run; nothing is written before all of it is known to be right."""
    from dovetail.evaluation.contenders import choose
    from dovetail.evaluation.matrix import Matrix, check_workers
    from dovetail.evaluation.matrix_results import MatrixResults

    check_workers(args.workers)
    opened = asked.setting().open()
    chosen = choose(asked.schedulers, jobs=opened.jobs, family=asked.FAMILY)
    matrix = Matrix(chosen.contenders, asked.seed_range, keep=args.out is not None)
    notes = [*asked.notes(chosen.contenders), *opened.notes(), *chosen.notes]
    if asked.seed_range[-1] >= FIRST_TRAINING_SEED:
        notes.append(f"seeds from {FIRST_TRAINING_SEED} on are for tuning and training; judge on those below")
    command = command or asked.command(f"compare {asked.FAMILY}")
    writer = open_run_set(opened, asked, args, command, notes=notes)
    results = MatrixResults(matrix, writer)
    finished = run_visibly(opened, matrix, results, args.workers)
    for text in sorted(results.notes):
        note(text)
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

    options: dict[str, Any] = plain(opened.options)
    return options
