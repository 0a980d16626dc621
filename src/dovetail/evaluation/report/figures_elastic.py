"""The allocations of the elastic family as figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.elastic import WORKER
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.allocation_elastic import FAINTEST
from dovetail.evaluation.report.figures import SOFT, TRACK, new_figure, plain_axes
from dovetail.records.elastic import ElasticRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def allocation_figures(shown: list[tuple[int, str, ElasticRun]]) -> list[tuple[str, Callable[[], Figure]]]:
    """The workers of every job in every slot, for every run; colours as in the page."""
    peak = max((int(run.standing(WORKER).max(initial=0)) for _, _, run in shown), default=0)
    return [(f"allocation-{run.run}", partial(_allocation, label, run, peak)) for _, label, run in shown]


def _allocation(label: str, run: ElasticRun, peak: int) -> Figure:
    from matplotlib.colors import to_rgb

    jobs, workers = run.jobs, run.standing(WORKER)
    last = np.where(jobs.finish >= 0, jobs.finish, np.where(jobs.rejected >= 0, jobs.rejected, run.slots - 1))
    slot = np.arange(run.slots)
    present = (slot >= jobs.arrival[:, None]) & (slot <= last[:, None])
    picture = np.ones((len(jobs), run.slots, 3))
    picture[present] = to_rgb(TRACK)
    colours = np.array([to_rgb(colour) for colour in palette.job_colours()])[jobs.job % palette.NUM_JOB_COLOURS]
    shade = FAINTEST + (1 - FAINTEST) * np.sqrt(workers / max(peak, 1))
    shaded = 1 - shade[:, :, None] * (1 - colours[:, None, :])
    picture[workers > 0] = shaded[workers > 0]
    figure, axes = new_figure(11.0, min(9.0, max(2.6, 1.2 + 0.09 * len(jobs))))
    axes.imshow(picture, aspect="auto", interpolation="nearest", extent=(0, run.slots, len(jobs) - 0.5, -0.5))
    for marker, column in (("|", jobs.finish), ("x", jobs.rejected)):
        rows = np.flatnonzero(column >= 0)
        axes.plot(
            column[rows] + (1.0 if marker == "|" else 0.5), rows, marker, color=SOFT, markersize=3.5, clip_on=False
        )
    axes.set_title(f"{label}, seed {run.seed}", loc="left", fontsize=11, fontweight="bold")
    note = f"the stronger, the more workers, up to {peak}; grey: waits; | completed, x rejected"
    axes.set_xlabel(f"slot ({run.slot_s:g} s each)    ({note})", color=SOFT)
    axes.set_ylabel("job", color=SOFT)
    plain_axes(axes)
    return figure
