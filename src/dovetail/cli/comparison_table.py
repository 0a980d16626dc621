"""The table of a comparison on standard output: drawn on a terminal, aligned plain text in a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.evaluation.comparison import ComparedRow, Comparison
from dovetail.evaluation.family import family_named
from dovetail.evaluation.report.table import shown_metrics
from dovetail.evaluation.report.text import bounds, duration, number, signed_difference

if TYPE_CHECKING:
    from rich.table import Table

BEST = "best heuristic"
_GAP = 2  # between columns


def print_comparison(comparison: Comparison) -> None:
    if not comparison.rows:
        return
    head, body = cells(comparison)
    if sys.stdout.isatty():
        _print_rich(head, body)
    else:
        print(aligned(head, body))


def cells(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Titles and rows as text."""
    names, metrics = shown_metrics(comparison), family_named(comparison.family).metrics
    timed = any(math.isfinite(row.decision_s) for row in comparison.rows)
    head = ["scheduler"]
    for name in names:
        metric = metrics[name]
        head.append(f"{metric.title}, {metric.unit}" if metric.unit.isalpha() else metric.title)
        if name == comparison.yardstick:
            head += ["95 % interval", f"vs {BEST}"]
    return head + ["per decision"] * timed, [_row(comparison, row, names, timed) for row in comparison.rows]


def _row(comparison: Comparison, row: ComparedRow, names: Sequence[str], timed: bool) -> list[str]:
    texts, metrics = [row.label], family_named(comparison.family).metrics
    for name in names:
        texts.append(number(row.metrics[name].mean, metrics[name]))
        if name == comparison.yardstick:
            is_best = row.label == comparison.best_heuristic
            by = signed_difference(comparison.difference(row), metrics[name])
            texts += [bounds(row.metrics[name], metrics[name]), BEST if is_best else by]
    return texts + [duration(row.decision_s)] * timed


def aligned(head: list[str], body: list[list[str]]) -> str:
    """Columns two spaces apart, the first flush left and the others flush right."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    lines = []
    for row in [head, *body]:
        texts = [row[0].ljust(widths[0])]
        texts += [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)


def _print_rich(head: list[str], body: list[list[str]]) -> None:
    """One table, or as many under each other as the terminal's width asks for."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    name, *columns = zip([_two_lines(title) for title in head], *body, strict=True)
    parts: list[list[tuple[str, ...]]] = [[name]]
    for column in columns:
        if sum(map(_width, [*parts[-1], column])) > console.width + _GAP and len(parts[-1]) > 1:
            parts.append([name])
        parts[-1].append(column)
    for place, part in enumerate(parts):
        console.print(*[""] * (place > 0), _rich_table(part), sep="\n")


def _width(column: Sequence[str]) -> int:
    return max(len(line) for text in column for line in text.split("\n")) + _GAP


def _rich_table(columns: Sequence[tuple[str, ...]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for place, (title, *_) in enumerate(columns):
        left = place == 0
        table.add_column(title, justify="left" if left else "right", no_wrap=True, vertical="bottom")
    for place, row in enumerate(zip(*(column[1:] for column in columns), strict=True)):
        table.add_row(*row, style="bold green" if place == 0 else "")
    return table


def _two_lines(title: str) -> str:
    """A title broken where its longer half is shortest."""
    words = title.split(" ")
    halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    return "\n".join(min(halves, key=lambda pair: max(map(len, pair)))) if halves else title
