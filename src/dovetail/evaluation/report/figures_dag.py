"""The Gantt charts of the dag family as figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.bars import MAX_BARS_RUN, cut, merge_tasks
from dovetail.evaluation.report.figures import SOFT, TRACK, new_figure, plain_axes
from dovetail.records.dag import DagRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOST = "#d3212c"


def gantt_figures(
    shown: list[tuple[int, str, DagRun]], moving_delay_s: float
) -> list[tuple[str, Callable[[], Figure]]]:
    """A Gantt chart for every run."""
    return [(f"gantt-{run.run}", partial(_gantt, label, run, moving_delay_s)) for _, label, run in shown]


def _gantt(label: str, run: DagRun, moving_delay_s: float) -> Figure:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    bars, until_s = cut(merge_tasks(run), MAX_BARS_RUN)
    figure, axes = new_figure(11.0, min(7.5, max(2.6, 1.1 + 0.11 * run.executors)))
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
    plain_axes(axes)
    return figure


def _boxes(start_s: Floats, end_s: Floats, row: Ints) -> Any:
    """(n, 4, 2) the corners of one box for each row given."""
    top, bottom = row - 0.44, row + 0.44
    across = np.stack((start_s, end_s, end_s, start_s), axis=1)
    return np.stack((across, np.stack((top, top, bottom, bottom), axis=1)), axis=2)
