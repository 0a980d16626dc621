"""The instances of the stream family as figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dovetail.evaluation.report import palette
from dovetail.evaluation.report.charts_stream import Shown
from dovetail.evaluation.report.figures import LINE, SOFT, new_figure, plain_axes
from dovetail.evaluation.report.instances_stream import MAX_ROWS, SHADES, Columns, opacity, shade
from dovetail.records.perfetto_stream import operator_label
from dovetail.records.stream import HOUR_S, StreamRun, instance_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOM = 0.92  # of a row that most instances take


def instance_figures(shown: Shown) -> list[tuple[str, Callable[[], Figure]]]:
    """The instances of every operator over time, for every run; colours as in the page."""
    peak = max((int(run.parallelism[:, :MAX_ROWS].max(initial=1)) for _, _, run in shown), default=1)
    return [(f"instances-{run.run}", partial(_instances, label, run, peak)) for _, label, run in shown]


def _instances(label: str, run: StreamRun, peak: int) -> Figure:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    drawn, columns = min(len(run.operators), MAX_ROWS), Columns.of(run)
    hours = columns.edges_s / HOUR_S
    strength = np.array([opacity(level) for level in range(SHADES)])
    figure, axes = new_figure(11.0, min(9.5, max(2.6, 1.2 + 0.28 * drawn)))
    boxes, colours = [], []
    for operator in range(drawn):
        colour = np.array(to_rgb(palette.job_colours()[operator % palette.NUM_JOB_COLOURS]))
        top = operator + 1 - ROOM * columns.parallelism[:, operator] / peak
        for column, own in enumerate(strength[shade(columns.busy[:, operator])].tolist()):
            a, b, low, high = hours[column], hours[column + 1], operator + 1.0, top[column]
            boxes.append([(a, low), (b, low), (b, high), (a, high)])
            colours.append(1 - own * (1 - colour))
    axes.add_collection(PolyCollection(boxes, facecolors=colours, linewidths=0), autolim=False)
    for operator in range(drawn):
        new = operator > 0 and run.operators.job[operator] != run.operators.job[operator - 1]
        axes.axhline(operator, color=SOFT if new else LINE, linewidth=0.8 if new else 0.5)
    for job in range(len(run.jobs)):
        rows = run.operators_of(job)
        at = hours[:-1][columns.rescaled[:, job]]
        if rows[0] < drawn:
            axes.plot(at, np.full(at.size, float(rows[0])), "|", color=SOFT, markersize=5, clip_on=False)
    every = max(1, -(-drawn // 40))
    named = range(0, drawn, every)
    axes.set_yticks([one + 0.5 for one in named], [operator_label(run, one) for one in named])
    axes.set_xlim(float(hours[0]), float(hours[-1]))
    axes.set_ylim(drawn, 0)
    axes.set_title(f"{label}, seed {run.seed}", loc="left", fontsize=11, fontweight="bold")
    note = f"height: instances, up to {instance_words(peak)}; the stronger the busier; | rescaled"
    axes.set_xlabel(f"time, h    ({note})", color=SOFT)
    plain_axes(axes)
    return figure
