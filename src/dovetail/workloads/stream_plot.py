"""A picture of a stream workload: rates over time and over the day, demand of operators, and who feeds whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import DAY_S, WEEK_S, Floats
from dovetail.workloads.plot import FAINT, FILL, INK, STYLE, WAVE_COLOURS
from dovetail.workloads.stream_describe import HOUR_S, by_hour
from dovetail.workloads.stream_jobs import StreamJobs
from dovetail.workloads.stream_rates import RateSeries, RecordedRates
from dovetail.workloads.stream_source import StreamSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (FILL, WAVE_COLOURS[0], WAVE_COLOURS[1], "#5b8c5a", "#7a5195", INK)
_NAMED = 16  # operators whose names are written in the picture


def save_stream_plot(
    source: StreamSource | RecordedRates, path: Path, *, duration_s: float | None = None, seed: int = 0
) -> None:
    """Four panels; rates without jobs have two."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    series, jobs = _shown(source, duration_s, seed)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 8 if jobs is not None else 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1 if jobs is None else 2, 2, squeeze=False)
        title = f"{source.name}: {series.duration_s / HOUR_S:,.6g} hours"
        if jobs is not None:
            title += f", {jobs.num_jobs} jobs, {jobs.num_operators} operators, {jobs.slots} slots"
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
        _rates(axes[0, 0], series)
        _days(axes[0, 1], series)
        if jobs is not None:
            _demand(axes[1, 0], jobs, series)
            _graph(axes[1, 1], jobs)
        try:
            figure.savefig(path, dpi=120, facecolor="white")
        except OSError as error:
            raise DovetailError(f"{path} cannot be written: {error.strerror or error}") from error


def _shown(
    source: StreamSource | RecordedRates, duration_s: float | None, seed: int
) -> tuple[RateSeries, StreamJobs | None]:
    if isinstance(source, RecordedRates):
        return source.recorded, None
    work = source.sequence(duration_s, SeedTree(seed))
    return RateSeries(work.job_name, work.bin_s, work.clock_s, work.rate), source.table


def _rates(ax: Axes, series: RateSeries) -> None:
    hours = np.arange(series.rate.shape[1]) * series.bin_s / HOUR_S
    for place, (name, rate) in enumerate(zip(series.name, series.rate, strict=True)):
        colour = _COLOURS[place % len(_COLOURS)]
        ax.plot(hours, rate, color=colour, lw=0.5, alpha=0.35)
        mean = by_hour(rate, series.bin_s)
        if mean is not None and len(mean) > 1:
            ax.step(np.arange(len(mean)), mean.mean(axis=1), where="post", color=colour, lw=1.6, label=name)
    _legend(ax, series)
    ax.set_ylim(bottom=0)
    ax.set(title="Rate: bins, and means of hours", xlabel="hours", ylabel="records a second")


def _days(ax: Axes, series: RateSeries) -> None:
    clock_s = (series.clock_s + np.arange(series.rate.shape[1]) * series.bin_s) % WEEK_S
    hour = (clock_s % DAY_S // HOUR_S).astype(np.int64)
    weekend = clock_s >= 5 * DAY_S
    mean = series.rate / series.rate.mean(axis=1, keepdims=True)
    for these, words, colour in ((~weekend, "weekdays", FILL), (weekend, "weekends", WAVE_COLOURS[0])):
        if these.any():
            count = np.bincount(hour[these], minlength=24)
            total = np.bincount(hour[these], mean.mean(axis=0)[these], minlength=24)
            level = np.divide(total, count, out=np.full(24, np.nan), where=count > 0)
            ax.step(np.arange(25), np.append(level, level[-1]), where="post", color=colour, label=words)
    ax.legend(framealpha=0.9, edgecolor="none", fontsize=9)
    ax.set_ylim(bottom=0)
    ax.set(title="By hour of the day", xlabel="hour", ylabel="rate / mean rate")


def _demand(ax: Axes, jobs: StreamJobs, series: RateSeries) -> None:
    from matplotlib.ticker import MaxNLocator

    demand, at = jobs.demand(), np.arange(jobs.num_operators)
    top = np.array([_peak(rate, series.bin_s) for rate in series.rate]) / jobs.job_rate
    colours = [_COLOURS[job % len(_COLOURS)] for job in jobs.op_job]
    ax.bar(at, demand * top[jobs.op_job], color=colours, alpha=0.3, width=0.8)
    ax.bar(at, demand, color=colours, width=0.8)
    ax.scatter(at, jobs.op_start, marker="_", s=120, color=INK, zorder=3, label="instances at the start")
    ax.plot(at, jobs.op_max, color=FAINT, ls=":", drawstyle="steps-mid", label="at most")
    if jobs.num_operators <= _NAMED:
        ax.set_xticks(at, jobs.op_name, rotation=35, ha="right", fontsize=8)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("operator")
    ax.set_ylim(0, 1.2 * max(float(jobs.op_max.max()), float((demand * top[jobs.op_job]).max())))
    ax.legend(framealpha=0.9, edgecolor="none", fontsize=9, loc="upper left", ncols=2)
    ax.grid(False, axis="x")
    ax.set(title="Busy instances: at the mean rate, and in the peak hour (pale)", ylabel="instances")


def _peak(rate: Floats, bin_s: float) -> float:
    hours = by_hour(rate, bin_s)
    return float(rate.max() if hours is None else hours.mean(axis=1).max())


def _graph(ax: Axes, jobs: StreamJobs) -> None:
    x, y = _places(jobs)
    for origin, target in zip(jobs.edge_from, jobs.edge_to, strict=True):
        ax.annotate(
            "",
            (x[target], y[target]),
            (x[origin], y[origin]),
            arrowprops={"arrowstyle": "->", "color": FAINT, "lw": 0.9, "shrinkA": 6, "shrinkB": 6},
        )
    points = ax.scatter(x, y, c=jobs.demand(), s=110, cmap="viridis_r", edgecolor="white", zorder=3)
    if jobs.num_operators <= _NAMED:
        for at, name in enumerate(jobs.op_name):
            ax.annotate(name, (x[at], y[at]), xytext=(0, 8), textcoords="offset points", ha="center", fontsize=8)
    bar = ax.figure.colorbar(points, ax=ax, pad=0.01)
    bar.set_label("busy instances")
    bar.outline.set_visible(False)
    ax.margins(0.1)
    ax.set_yticks([])
    ax.grid(False)
    ax.set(title="Who feeds whom", xlabel="level")


def _places(jobs: StreamJobs) -> tuple[Floats, Floats]:
    """Levels from left to right, jobs one below another, operators of a level spread over the height of their job."""
    level = jobs.level()
    y = np.zeros(jobs.num_operators)
    for job in range(jobs.num_jobs):
        for depth in range(int(level.max()) + 1):
            own = np.flatnonzero((jobs.op_job == job) & (level == depth))
            y[own] = -job - (np.arange(own.size) + 1) / (own.size + 1)
    return level.astype(np.float64), y


def _legend(ax: Axes, series: RateSeries) -> None:
    if len(series.name) > 1:
        ax.legend(framealpha=0.9, edgecolor="none", fontsize=9)
