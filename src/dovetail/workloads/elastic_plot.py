"""A picture of an elastic workload: four panels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.elastic import RESOURCES, Floats, Ints
from dovetail.core.errors import DovetailError
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_alone import alone_slots, mean_demand
from dovetail.workloads.elastic_describe import CLASSES, arrival_slots, sample_jobs, utility_class
from dovetail.workloads.elastic_source import ElasticSource
from dovetail.workloads.plot import FAINT, FILL, INK, STYLE, WAVE_COLOURS, log_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save_elastic_plot(
    source: ElasticSource,
    path: Path,
    *,
    worker_capacity: Floats,
    server_capacity: Floats,
    jobs: int | None = None,
    slots: int | None = None,
    seed: int = 0,
) -> None:
    """Work per job, time alone against the time it is due, load by resource, and arrivals."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    jobs, slots = source.jobs if jobs is None else jobs, source.slots if slots is None else slots
    sample = sample_jobs(source, slots, seed)
    capacity = (worker_capacity, server_capacity)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(2, 2)
        title = f"{source.name}: {jobs:,} jobs, {slots:,} slots, {len(worker_capacity)} + {len(server_capacity)} hosts"
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
        _work(axes[0, 0], sample)
        _alone(axes[0, 1], sample, alone_slots(sample.jobs(), *capacity), slots)
        _load(axes[1, 0], sample, jobs, slots, capacity)
        _arrivals(axes[1, 1], arrival_slots(source, jobs, slots, seed))
        try:
            figure.savefig(path, dpi=120, facecolor="white")
        except OSError as error:
            raise DovetailError(f"{path} cannot be written: {error.strerror or error}") from error


def _work(ax: Axes, jobs: ElasticWorkload) -> None:
    log_histogram(ax, jobs.work.astype(np.float64))
    top = ax.get_ylim()[1]
    for share, name in ((0.5, "median"), (0.95, "p95")):
        at = float(np.quantile(jobs.work, share))
        ax.axvline(at, color=INK, lw=1, ls="--")
        ax.annotate(f"{name} {at:,.0f}", (at, top), xytext=(4, -11), textcoords="offset points", fontsize=9)
    ax.set(title="Work per job", xlabel="worker-slots", ylabel="jobs")


def _alone(ax: Axes, jobs: ElasticWorkload, alone: Floats, slots: int) -> None:
    """Jobs below the diagonal can complete before they have lost half of their worth."""
    kind = utility_class(jobs.utility[:, 1])
    fits = np.isfinite(alone)
    for code, name in enumerate(CLASSES):
        here = (kind == code) & fits
        size = 4 + 26 * jobs.utility[here, 0] / jobs.utility[:, 0].max()
        colour = WAVE_COLOURS[(2, 1, 0)[code]]
        ax.scatter(jobs.utility[here, 2], alone[here], s=size, color=colour, alpha=0.6, lw=0, label=name)
    most = float(jobs.utility[:, 2].max())
    ax.plot([0, most], [1, 1 + most], color=INK, lw=1, ls="--")
    ax.axhline(slots, color=FAINT, lw=1)
    ax.annotate("horizon", (most, slots), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=9)
    ax.set_yscale("log")
    ax.legend(framealpha=0.9, edgecolor="none", fontsize=9, loc="upper left", ncols=3)
    ax.set(title="Time alone on the cluster against when it is due", xlabel="due, slots", ylabel="slots alone")


def _load(ax: Axes, jobs: ElasticWorkload, num_jobs: int, slots: int, capacity: tuple[Floats, Floats]) -> None:
    names, values = [], []
    for role, demand, there in zip(("worker", "server"), mean_demand(jobs.jobs()), capacity, strict=True):
        total = there.sum(axis=0) * slots
        for resource, name in enumerate(RESOURCES):
            if total[resource] > 0:
                names.append(f"{role} {name}")
                values.append(float(demand[resource] * num_jobs / total[resource]))
    ax.barh(names[::-1], values[::-1], color=FILL)
    ax.axvline(1, color=WAVE_COLOURS[0], lw=1.5)
    for place, value in enumerate(values[::-1]):
        ax.annotate(f"{value:.2f}", (value, place), xytext=(4, -3), textcoords="offset points", fontsize=9)
    ax.margins(x=0.1)
    ax.grid(False, axis="y")
    ax.set(title="Demand as a multiple of what there is", xlabel="demand / capacity")


def _arrivals(ax: Axes, slot: Ints) -> None:
    counts = np.bincount(slot)
    ax.bar(np.arange(counts.size), counts, width=1.0, color=FILL)
    ax.set(title="Arrivals", xlabel="slot", ylabel="jobs")
