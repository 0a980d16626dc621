"""The report as PNG figures, for slides and papers: table, distribution, jobs in the system, Gantt charts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import RecordError
from dovetail.evaluation.comparison import Comparison, compare
from dovetail.evaluation.metrics_dag import METRICS
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.bars import MAX_BARS_RUN, cut, merge_tasks
from dovetail.evaluation.report.charts import Chart, make_charts
from dovetail.evaluation.report.page import recorded_runs
from dovetail.evaluation.report.table import shown_metrics
from dovetail.evaluation.report.text import bounds, duration, number, signed_pct
from dovetail.records.dag import DagRun
from dovetail.records.directory import DagRecords
from dovetail.records.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
INK, SOFT, LINE, TRACK, BEST = "#16202e", "#55637a", "#dfe4ec", "#eef1f6", "#eaf0fe"
LOST = "#d3212c"
_DASHES = ("solid", (0, (5, 2)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))


def write_figures(records: DagRecords, directory: Path) -> list[Path]:
    """Write all figures and return their paths.  The same records always give the same pictures."""
    comparison = compare(records)
    shown = recorded_runs(records, comparison)
    moving_delay_s = float(records.options.get("moving_delay_s") or 0.0)
    figures: list[tuple[str, Callable[[], Figure]]] = [("table", partial(_table, records, comparison))]
    figures += [(chart.name, partial(_curves, chart)) for chart in make_charts(shown)]
    figures += [(f"gantt-{run.run}", partial(_gantt, label, run, moving_delay_s)) for _, label, run in shown]
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


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _table(records: DagRecords, comparison: Comparison) -> Figure:
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import Bbox

    names = shown_metrics(comparison)
    heads = ["scheduler"]
    for name in names:
        unit = ", s" if METRICS[name].unit == "s" else ""
        heads += [METRICS[name].title + unit] + (["vs best heuristic"] if name == "avg_jct_s" else [])
    heads.append("per decision")
    cells = []
    for row in comparison.rows:
        line = [row.label]
        for name in names:
            value = number(row.metrics[name].mean, name)
            if name != "avg_jct_s":
                line.append(value)
                continue
            own = row.label == comparison.best_heuristic
            line.append(f"{value} {bounds(row.metrics[name])}")
            line.append("best heuristic" if own else signed_pct(row.difference_pct))
        cells.append([*line, duration(row.decision_s)])
    widths = [max(len(text) for text in column) + 3.0 for column in zip(heads, *cells, strict=True)]
    figure, axes = _figure(0.073 * sum(widths) + 0.3, 0.29 * (len(cells) + 1) + 0.55)
    axes.set_axis_off()
    seeds = len(set(records.summary.seed.tolist()))
    title = f"{records.workload.get('name', 'dag')}: {len(cells)} schedulers, seeds: {seeds}"
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
    figure, axes = _figure(8.4, 4.0)
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
    _plain(axes)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8, loc="outside right upper")
    return figure


def _gantt(label: str, run: DagRun, moving_delay_s: float) -> Figure:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    bars, until_s = cut(merge_tasks(run), MAX_BARS_RUN)
    figure, axes = _figure(11.0, min(7.5, max(2.6, 1.1 + 0.11 * run.executors)))
    job = np.array([to_rgb(colour) for colour in palette.job_colours()])[bars.job % palette.NUM_JOB_COLOURS]
    colours = np.where((bars.stage % 2 == 1)[:, None], job + (1 - job) * 0.2, job)
    last_s = np.zeros(len(bars))
    same = np.diff(bars.executor) == 0
    last_s[1:][same] = bars.end_s[:-1][same]
    fresh = np.flatnonzero((bars.wave == 0) & (bars.start_s > last_s))
    leave_s = np.maximum(last_s, bars.start_s - moving_delay_s)
    axes.axvspan(0, run.end_s, color=TRACK, linewidth=0)
    if moving_delay_s > 0 and fresh.size:
        moving = _boxes(leave_s[fresh], bars.start_s[fresh], bars.executor[fresh])
        pale = job[fresh] + (1 - job[fresh]) * 0.65
        axes.add_collection(PolyCollection(moving, facecolors=pale, linewidths=0), autolim=False)
    boxes = _boxes(bars.start_s, bars.end_s, bars.executor)
    axes.add_collection(PolyCollection(boxes, facecolors=colours, linewidths=0), autolim=False)
    if bars.lost.any():
        lost = PolyCollection(boxes[bars.lost], facecolors="none", edgecolors=LOST, linewidths=1.2)
        axes.add_collection(lost, autolim=False)
    top = run.executors + 0.8
    for marker, time_s, row in (("v", run.jobs.arrival_s, -0.9), ("^", run.jobs.finish_s, top - 0.4)):
        at = time_s[np.isfinite(time_s)]
        axes.plot(at, np.full(at.size, row), marker, color=SOFT, markersize=3.5, clip_on=False)
    axes.set_xlim(0, max(run.end_s * 1.01, 1e-3))
    axes.set_ylim(top, -1.4)
    note = "" if until_s is None else f" (too large: only what starts before {until_s:.0f} s is drawn)"
    axes.set_title(f"{label}, seed {run.seed}{note}", loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel("time, s    (colour: job; pale: moving; grey: idle; ▼ arrival, ▲ completion)", color=SOFT)
    axes.set_ylabel("executor", color=SOFT)
    _plain(axes)
    return figure


def _boxes(start_s: Floats, end_s: Floats, row: Ints) -> Any:
    """(n, 4, 2) the corners of one box for each row given."""
    top, bottom = row - 0.44, row + 0.44
    across = np.stack((start_s, end_s, end_s, start_s), axis=1)
    return np.stack((across, np.stack((top, top, bottom, bottom), axis=1)), axis=2)


def _plain(axes: Axes) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=SOFT, labelsize=8, length=3)
