"""The report as PNG figures, for slides and papers: the table, the charts, and the pictures of the family."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import RecordError
from dovetail.evaluation.comparison import Comparison, compare
from dovetail.evaluation.family import family_named
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.charts import Chart
from dovetail.evaluation.report.page import recorded_runs
from dovetail.evaluation.report.table import shown_metrics
from dovetail.evaluation.report.text import bounds, duration, number, signed_difference
from dovetail.records.directory import Records
from dovetail.records.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
INK, SOFT, LINE, TRACK, BEST = "#16202e", "#55637a", "#dfe4ec", "#eef1f6", "#eaf0fe"
_DASHES = ("solid", (0, (5, 2)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))


def write_figures(records: Records, directory: Path) -> list[Path]:
    """Write all figures and return their paths.  The same records always give the same pictures."""
    comparison, family = compare(records), family_named(records.family)
    shown = recorded_runs(records, comparison)
    figures: list[tuple[str, Callable[[], Figure]]] = [("table", partial(_table, records, comparison))]
    figures += [(chart.name, partial(_curves, chart)) for chart in family.charts(shown)]
    figures += family.figures(records, shown)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{directory}: cannot be made ({error.strerror or error})") from error
    return [_save(directory / f"{name}.png", make) for name, make in figures]


def _save(path: Path, make: Callable[[], Figure]) -> Path:
    from matplotlib import rc_context

    style: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": LINE,
    }
    with rc_context(style), replacing(path) as part:
        # Without the program's name, so that equal pictures are equal files.
        make().savefig(part, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return path


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _table(records: Records, comparison: Comparison) -> Figure:
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import Bbox

    names, metrics = shown_metrics(comparison), family_named(comparison.family).metrics
    heads = ["scheduler"]
    for name in names:
        unit = f", {metrics[name].unit}" if metrics[name].unit.isalpha() else ""
        heads += [metrics[name].title + unit] + (["vs best heuristic"] if name == comparison.yardstick else [])
    heads.append("per decision")
    cells = []
    for row in comparison.rows:
        line = [row.label]
        for name in names:
            value = number(row.metrics[name].mean, metrics[name])
            if name != comparison.yardstick:
                line.append(value)
                continue
            own = row.label == comparison.best_heuristic
            line.append(f"{value} {bounds(row.metrics[name], metrics[name])}")
            by = signed_difference(comparison.difference(row), metrics[name])
            line.append("best heuristic" if own else by)
        cells.append([*line, duration(row.decision_s)])
    widths = [max(len(text) for text in column) + 3.0 for column in zip(heads, *cells, strict=True)]
    figure, axes = new_figure(0.073 * sum(widths) + 0.3, 0.29 * (len(cells) + 1) + 0.55)
    axes.set_axis_off()
    seeds = len(set(records.summary.seed.tolist()))
    title = f"{records.workload.get('name', records.family)}: {len(cells)} schedulers, seeds: {seeds}"
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    share = 1 / (len(cells) + 1)
    axes.add_patch(Rectangle((0, 1 - 2 * share), 1, share, color=BEST, transform=axes.transAxes, zorder=0))
    table = axes.table(
        cells,
        colLabels=heads,
        colWidths=[width / sum(widths) for width in widths],
        bbox=Bbox.unit(),
        cellLoc="right",
    )
    table.auto_set_font_size(False)
    for (line_, column), cell in table.get_celld().items():
        cell.visible_edges = "B"
        cell.set_edgecolor(LINE)
        strong = "bold" if line_ == 0 or (line_ == 1 and column < 2) else "normal"
        cell.set_text_props(color=SOFT if line_ == 0 else INK, fontsize=8.5, weight=strong)
        if column == 0:
            cell.set_text_props(horizontalalignment="left")
    return figure


def _curves(chart: Chart) -> Figure:
    figure, axes = new_figure(8.4, 4.0)
    for place, label, curve in reversed(chart.curves):
        colour, _, _ = palette.series(place)
        dash: Any = _DASHES[place // len(palette.SERIES) % len(_DASHES)]
        axes.step(curve.x, curve.y, where="post", color=colour, linestyle=dash, linewidth=1.5, label=label)
    axes.set_title(f"{chart.title}: {chart.note}", loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(chart.x_label, color=SOFT)
    if chart.x.log:
        axes.set_xscale("log")
        axes.set_xticks(list(chart.x.ticks), [f"{tick:g}" for tick in chart.x.ticks])
        axes.minorticks_off()
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_ylim(chart.y.low, chart.y.high * (1.02 if chart.percent else 1.0))
    texts = [f"{100 * tick:.0f} %" if chart.percent else f"{tick:g}" for tick in chart.y.ticks]
    axes.set_yticks(list(chart.y.ticks), texts)
    axes.grid(axis="y", color=LINE, linewidth=0.6)
    plain_axes(axes)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8, loc="outside right upper")
    return figure


def plain_axes(axes: Axes) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=SOFT, labelsize=8, length=3)
