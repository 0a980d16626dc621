"""A picture of a gpu workload: four panels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.errors import DovetailError
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_describe import GROUPS, gpu_shares, sample_jobs
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.plot import FAINT, FILL, INK, STYLE, WAVE_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (FILL, WAVE_COLOURS[0])


def save_gpu_plot(
    source: GpuSource,
    path: Path,
    *,
    cluster: GpuCluster | None = None,
    seed: int = 0,
    other: GpuSource | None = None,
) -> None:
    """GPUs of jobs, durations, demands for each GPU and arrivals; with `other`, both."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cluster = source.cluster if cluster is None else cluster
    shown = [(source.name, sample_jobs(source, cluster, seed))]
    if other is not None:
        shown.append((other.name, sample_jobs(other, other.cluster, seed)))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(2, 2)
        title = " beside ".join(f"{name} ({jobs.num_jobs:,} jobs)" for name, jobs in shown)
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
        _groups(axes[0, 0], shown)
        _durations(axes[0, 1], shown)
        _demands(axes[1, 0], shown)
        _arrivals(axes[1, 1], shown)
        try:
            figure.savefig(path, dpi=120, facecolor="white")
        except OSError as error:
            raise DovetailError(f"{path} cannot be written: {error.strerror or error}") from error


def _groups(ax: Axes, shown: list[tuple[str, GpuWorkload]]) -> None:
    width = 0.8 / len(shown)
    for place, (name, jobs) in enumerate(shown):
        values = [100 * share for share in gpu_shares(jobs).values()]
        at = np.arange(len(GROUPS)) + (place - (len(shown) - 1) / 2) * width
        ax.bar(at, values, width=width, color=_COLOURS[place], label=name)
    ax.set_xticks(np.arange(len(GROUPS)), GROUPS)
    ax.grid(False, axis="x")
    _legend(ax, shown)
    ax.set(title="GPUs of a job", ylabel="jobs, %")


def _durations(ax: Axes, shown: list[tuple[str, GpuWorkload]]) -> None:
    for place, (name, jobs) in enumerate(shown):
        seconds = np.sort(jobs.work_s)
        ax.plot(seconds, 100 * np.arange(1, seconds.size + 1) / seconds.size, color=_COLOURS[place], label=name)
    for seconds_at, words in ((60, "minute"), (3600, "hour"), (86400, "day")):
        ax.axvline(seconds_at, color=FAINT, lw=1, ls=":")
        ax.annotate(words, (seconds_at, 1), xytext=(3, 2), textcoords="offset points", fontsize=9, color=INK)
    ax.set_xscale("log")
    _legend(ax, shown)
    ax.set(title="Work: jobs that take at most so long", xlabel="seconds at speed 1", ylabel="%")


def _demands(ax: Axes, shown: list[tuple[str, GpuWorkload]]) -> None:
    for place, (name, jobs) in enumerate(shown):
        whole = jobs.workers * jobs.gpus >= 1
        if whole.any():
            cpus, memory = jobs.cpus[whole] / jobs.gpus[whole], jobs.memory[whole] / jobs.gpus[whole]
            ax.scatter(cpus, memory, s=10, alpha=0.3, lw=0, color=_COLOURS[place], label=name)
    _legend(ax, shown)
    ax.set(title="Demand for each GPU, of jobs with one or more", xlabel="processors", ylabel="memory, GB")


def _arrivals(ax: Axes, shown: list[tuple[str, GpuWorkload]]) -> None:
    for place, (name, jobs) in enumerate(shown):
        hour = (jobs.arrival_s % 86400 / 3600).astype(np.int64)
        counts = np.bincount(hour, minlength=24) / jobs.num_jobs * 100
        ax.step(np.arange(25), np.append(counts, counts[-1]), where="post", color=_COLOURS[place], label=name)
    ax.set_ylim(bottom=0)
    _legend(ax, shown)
    ax.set(title="Arrivals by hour of the day", xlabel="hour, counted from time 0", ylabel="jobs, %")


def _legend(ax: Axes, shown: list[tuple[str, GpuWorkload]]) -> None:
    if len(shown) > 1:
        ax.legend(framealpha=0.9, edgecolor="none", fontsize=9)
