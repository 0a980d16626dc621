"""The placements of the gpu family as figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.evaluation.report import palette
from dovetail.evaluation.report.charts_gpu import Clock, Shown, clock_for
from dovetail.evaluation.report.figures import LINE, SOFT, TRACK, new_figure, plain_axes
from dovetail.evaluation.report.placement_gpu import Lanes, shade
from dovetail.records.gpu import GpuRun
from dovetail.records.gpu_lanes import bars_of, offsets

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def placement_figures(shown: Shown) -> list[tuple[str, Callable[[], Figure]]]:
    """Who ran on which GPU when, for every run; colours as in the page."""
    clock = clock_for(shown)
    end_s = max((run.end_s for _, _, run in shown), default=0.0)
    return [(f"placement-{run.run}", partial(_placement, label, run, end_s, clock)) for _, label, run in shown]


def _placement(label: str, run: GpuRun, end_s: float, clock: Clock) -> Figure:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    bars = bars_of(run)
    lanes = Lanes.of(run, bars)
    inside = bars.machine < lanes.machines
    job = run.segments.job[bars.segment]
    colours = np.array([to_rgb(colour) for colour in palette.job_colours()])[job % palette.NUM_JOB_COLOURS]
    colours = 1 - shade(run)[bars.segment][:, None] * (1 - colours)
    low = lanes.lane(bars.machine, bars.device) + 0.92 * offsets(bars)
    high = low + np.maximum(0.92 * bars.share, 0.05)
    left, right = bars.start_s / clock.seconds, bars.end_s / clock.seconds
    boxes: Any = np.stack(
        [np.stack(pair, axis=1) for pair in ((left, low), (right, low), (right, high), (left, high))], axis=1
    )
    figure, axes = new_figure(11.0, min(9.5, max(2.6, 1.1 + 0.11 * lanes.total)))
    axes.axvspan(0, end_s / clock.seconds, color=TRACK, linewidth=0)
    axes.add_collection(PolyCollection(boxes[inside], facecolors=colours[inside], linewidths=0), autolim=False)
    for machine in range(1, lanes.machines):
        other = run.machines.rack[machine] != run.machines.rack[machine - 1]
        axes.axhline(float(lanes.first[machine]) - 0.04, color=SOFT if other else LINE, linewidth=0.8 if other else 0.5)
    every = max(1, -(-lanes.machines // 24))
    named = range(0, lanes.machines, every)
    middle = [float(lanes.first[machine] + lanes.count[machine] / 2) for machine in named]
    typed = every == 1 or len(set(run.machines.type)) == 1
    names = [run.machines.name[one] + (f" · {run.machines.type[one]}" if typed else "") for one in named]
    axes.set_yticks(middle, names)
    axes.set_xlim(0, end_s / clock.seconds)
    axes.set_ylim(lanes.total, 0)
    axes.set_title(f"{label}, seed {run.seed}", loc="left", fontsize=11, fontweight="bold")
    left_out = f"; {lanes.machines} of {len(run.machines):,} machines" if lanes.machines < len(run.machines) else ""
    note = f"a lane is a GPU, a colour is a job, the paler the slower against alone there{left_out}"
    axes.set_xlabel(f"time, {clock.unit}    ({note})", color=SOFT)
    plain_axes(axes)
    return figure
