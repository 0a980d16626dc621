"""The picture of a live elastic run: who had how many workers when, simulated and for real, and how the loss fell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.elastic import SERVER, WORKER, Floats
from dovetail.evaluation.report import palette
from dovetail.records.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dovetail.execution.elastic.live_summary import LiveSummary
    from dovetail.sim.elastic.result import ElasticResult

DPI = 150


def write_picture(summary: LiveSummary, path: Path, title: str) -> None:
    from matplotlib.figure import Figure

    table = summary.workload.table
    colours = palette.job_colours()
    figure = Figure(figsize=(9.0, 8.5), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=11)
    live, simulated, servers, losses = figure.subplots(4, 1, sharex=True, height_ratios=(3, 3, 1.6, 3))
    _bars(live, summary.live.result, WORKER, colours, "workers, for real")
    _bars(simulated, summary.simulated, WORKER, colours, "workers, simulated")
    _bars(servers, summary.live.result, SERVER, colours, "servers, for real")
    highest = max(axes.get_ylim()[1] for axes in (live, simulated))
    for axes in (live, simulated):
        axes.set_ylim(0, highest)
    for job, story in enumerate(summary.live.jobs):
        if story.losses:
            first = story.losses[1][0] if len(story.losses) > 1 else int(table.arrival[job])
            slots = [slot + 1 if slot >= 0 else first for slot, _ in story.losses]
            losses.plot(
                slots,
                [loss for _, loss in story.losses],
                color=colours[job % len(colours)],
                marker="o",
                markersize=3,
                label=table.job_name[job],
            )
    losses.set_ylabel("held-out loss")
    losses.set_ylim(bottom=0.0)
    losses.set_xlabel("slot")
    results = (summary.live.result, summary.simulated)
    losses.set_xlim(0, 1 + max(int(result.used[:, 0].max(initial=0)) for result in results))
    handles, labels = losses.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, fontsize=7, ncols=10, loc="outside lower center")
    with replacing(path) as part:
        figure.savefig(part, format="png")


def _bars(axes: Axes, result: ElasticResult, role: int, colours: list[str], label: str) -> None:
    """Jobs on top of each other, in the order of their arrival; a tick where one completes."""
    used, slots = result.used, result.workload.slots
    base: Floats = np.zeros(slots)
    for job in range(result.workload.num_jobs):
        rows = used[(used[:, 1] == job) & (used[:, 2] == role)]
        height = np.bincount(rows[:, 0], weights=rows[:, 4], minlength=slots)
        if height.any():
            style: dict[str, Any] = {"color": colours[job % len(colours)], "edgecolor": "white", "linewidth": 0.4}
            axes.bar(np.arange(slots), height, bottom=base, width=1.0, align="edge", **style)
        base = base + height
    axes.set_ylabel(label)
    axes.set_ylim(0, max(1.0, 1.1 * float(base.max(initial=0.0))))
    axes.spines[["top", "right"]].set_visible(False)
