"""Running a matrix in front of a person: a progress bar, notes and failures on standard error, Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import RecordError

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from dovetail.cli.arguments import Arguments
    from dovetail.evaluation.matrix import Matrix
    from dovetail.evaluation.matrix_cell import Failure
    from dovetail.evaluation.matrix_results import MatrixResults
    from dovetail.evaluation.setting import OpenSetting
    from dovetail.records.writer import RecordWriter

COMPILING = "compiling (only the first time, a minute or two) ..."


def note(text: str) -> None:
    print(f"dovetail: {text}", file=sys.stderr, flush=True)


def run_visibly(opened: OpenSetting, matrix: Matrix, results: MatrixResults, workers: int | None = None) -> bool:
    """Run what is not done yet.  False if it was interrupted; what was done until then is in the results."""
    from dovetail.evaluation.matrix import run_matrix

    chunks = matrix.chunks(results.is_done)
    if results.resumed:
        note(f"{results.resumed} of {matrix.cells} runs are there already")
    if not chunks:
        return True
    try:
        with _bar(matrix.cells, results.resumed) as bar:
            outcomes = run_matrix(opened, chunks, workers=workers, on_compile=lambda: bar.say(COMPILING))
            with closing(outcomes):
                for outcome in outcomes:
                    results.add(outcome)
                    bar.advance()
    except KeyboardInterrupt:
        return False
    finally:
        results.flush()
    return True


def tell_failures(failures: list[Failure]) -> None:
    """One line for each scheduler that failed; a scheduler that fails once tends to fail on every seed."""
    by_spec: dict[str, list[Failure]] = {}
    for failure in sorted(failures, key=lambda one: one.seed):
        by_spec.setdefault(failure.contender.spec, []).append(failure)
    for same in by_spec.values():
        more = f" (and on {len(same) - 1} more seeds)" if len(same) > 1 else ""
        note(f"error: {same[0]}{more}")


def open_run_set(
    opened: OpenSetting, asked: Arguments, args: argparse.Namespace, command: str, *, notes: Sequence[str] = ()
) -> RecordWriter | None:
    """Check the setting, and say where the records go if they are wanted; nothing is written before all is right."""
    for seed in sorted({asked.seed, asked.seed_range[-1]}):  # of a recorded trace there may be only so many
        opened.check(seed)
    for text in notes:
        note(text)
    if args.out is None:
        return None
    facts = {"workload": opened.facts(), "options": opened.options, "seeds": asked.seed_range, "command": command}
    return open_records(args.out, force=args.force, family=asked.FAMILY, **facts)


def open_records(directory: Path, *, force: bool, **facts: Any) -> RecordWriter:
    """Start or go on with a record directory; with `force`, whatever records are there are replaced."""
    from dovetail.records.writer import RecordWriter, can_be_replaced

    try:
        return RecordWriter.open(directory, replace=force, **facts)
    except OSError as error:
        raise RecordError(f"{directory}: cannot be made ({error.strerror or error})") from error
    except RecordError as error:
        if force or not can_be_replaced(directory):
            raise
        raise RecordError(f"{error}, or replace it with --force") from error


class _Bar:
    """A progress bar on a terminal; without one, only what must be said."""

    def __init__(self, console: Console | None, progress: Any = None, task: Any = None) -> None:
        self._console = console
        self._progress = progress
        self._task = task

    def say(self, text: str) -> None:
        if self._console is None:
            note(text)
        else:
            self._console.print(f"dovetail: {text}", highlight=False, markup=False)

    def advance(self) -> None:
        if self._progress is not None:
            self._progress.advance(self._task)


@contextmanager
def _bar(total: int, done: int) -> Iterator[_Bar]:
    if not sys.stderr.isatty():
        yield _Bar(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(console, progress, progress.add_task("runs", total=total, completed=done))
