"""The table of schedulers as HTML."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

from dovetail.evaluation.comparison import ComparedRow, Comparison
from dovetail.evaluation.family import family_named
from dovetail.evaluation.report.text import bounds, duration, number, signed_difference
from dovetail.evaluation.statistics import Interval

GLYPH_WIDTH, GLYPH_HEIGHT = 84, 14


class Cell(NamedTuple):
    html: str
    sort: float | str  # what the column is sorted by
    style: str = ""


def shown_metrics(comparison: Comparison) -> list[str]:
    """The metrics worth a column."""
    return family_named(comparison.family).shown(comparison.rows)


def table_html(comparison: Comparison) -> str:
    """The whole table; the first row is the best by the yardstick."""
    names, metrics = shown_metrics(comparison), family_named(comparison.family).metrics
    best = {name: _best(comparison, name) for name in names}
    has_times = any(math.isfinite(row.decision_s) for row in comparison.rows)
    heads = [_head("scheduler", "who decides", "text")]
    for name in names:
        metric = metrics[name]
        unit = f",\N{NO-BREAK SPACE}{metric.unit}" if metric.unit.isalpha() else ""
        order = _order(comparison) if name == comparison.yardstick else ""
        heads.append(_head(f"{metric.title}{unit}", f"{metric.meaning}; mean over the seeds", "number", order))
        if name == comparison.yardstick:
            heads.append(_head("vs best heuristic", f"paired difference of {metric.title}, 95 % interval", "number"))
    if has_times:
        heads.append(_head("per decision", "mean time the scheduler takes for one decision", "number"))
    body = []
    for number_, row in enumerate(comparison.rows):
        cells = [_name_cell(number_, row)]
        for name in names:
            cells.append(_metric_cell(comparison, row, name, best[name]))
            if name == comparison.yardstick:
                cells.append(_difference_cell(comparison, row))
        if has_times:
            time = row.decision_s
            cells.append(Cell(duration(time), time if math.isfinite(time) else math.inf))
        body.append(f'<tr class="{"best" if number_ == 0 else ""}">{"".join(map(_td, cells))}</tr>')
    head = "".join(heads)
    return f'<table id="table"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def _order(comparison: Comparison) -> str:
    """How the rows are sorted by the yardstick."""
    return f' aria-sort="{"descending" if comparison.metric.higher_is_better else "ascending"}"'


def _head(title: str, meaning: str, kind: str, order: str = "") -> str:
    return (
        f'<th scope="col" data-kind="{kind}" title="{escape(meaning)}"{order}>'
        f'<button type="button">{escape(title)}<span class="arrow" aria-hidden="true"></span></button></th>'
    )


def _td(cell: Cell) -> str:
    sort = f"{cell.sort:.9g}" if isinstance(cell.sort, float) else escape(cell.sort)
    style = f' class="{cell.style}"' if cell.style else ""
    return f'<td data-sort="{sort}"{style}>{cell.html}</td>'


def _name_cell(place: int, row: ComparedRow) -> Cell:
    chip = f'<span class="chip s{place}" aria-hidden="true"></span>'
    kind = "" if row.kind == "heuristic" else f' <span class="kind">{escape(row.kind)}</span>'
    html = f'{chip}<span class="name">{escape(row.label)}</span>{kind}'
    return Cell(html, row.label, "who")


def _metric_cell(comparison: Comparison, row: ComparedRow, name: str, best: float) -> Cell:
    interval = row.metrics[name]
    metric = family_named(comparison.family).metrics[name]
    value = number(interval.mean, metric)
    if value == number(best, metric):
        value = f"<b>{value}</b>"
    if name != comparison.yardstick:
        return Cell(value, interval.mean)
    spread = f'<span class="ci">{bounds(interval, metric)}</span>' if interval.known else ""
    return Cell(f'<span class="value">{value}</span>{spread}{_glyph(comparison, interval)}', interval.mean, "jct")


def _difference_cell(comparison: Comparison, row: ComparedRow) -> Cell:
    interval = comparison.difference(row)
    if row.label == comparison.best_heuristic:
        return Cell("best heuristic", 0.0, "yardstick")
    if not interval.known:
        return Cell(signed_difference(interval, comparison.metric), interval.mean, "diff")
    mean, _, spread = signed_difference(interval, comparison.metric).partition(" [")
    return Cell(f'{mean}<span class="ci">[{spread}</span>', interval.mean, f"diff {comparison.sure(interval)}")


def _glyph(comparison: Comparison, interval: Interval) -> str:
    """The mean and its interval on a scale all rows share: logarithmic if it can be, so equal ratios look equal."""
    known = [row.metrics[comparison.yardstick] for row in comparison.rows]
    low = min(item.low if item.known else item.mean for item in known)
    high = max(item.high if item.known else item.mean for item in known)
    if not high > low:
        return ""

    def place(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if low > 0 else (value - low) / (high - low)
        return 5 + share * (GLYPH_WIDTH - 10)

    middle = GLYPH_HEIGHT / 2
    line = ""
    if interval.known:
        a, b = place(interval.low), place(interval.high)
        line = f'<line x1="{a:.1f}" x2="{b:.1f}" y1="{middle}" y2="{middle}"/>'
    dot = f'<circle cx="{place(interval.mean):.1f}" cy="{middle}" r="3.4"/>'
    size = f'width="{GLYPH_WIDTH}" height="{GLYPH_HEIGHT}" viewBox="0 0 {GLYPH_WIDTH} {GLYPH_HEIGHT}"'
    return f'<svg class="glyph" {size} aria-hidden="true">{line}{dot}</svg>'


def _best(comparison: Comparison, name: str) -> float:
    values = [row.metrics[name].mean for row in comparison.rows]
    known = [value for value in values if math.isfinite(value)]
    choose = max if family_named(comparison.family).metrics[name].higher_is_better else min
    return choose(known, default=math.nan)
