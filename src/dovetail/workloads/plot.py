"""A picture of a workload: four panels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import DovetailError
from dovetail.workloads.dag import WAVES, DagCatalogue
from dovetail.workloads.describe import group_means, job_dags
from dovetail.workloads.source import DagSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT, FILL = "#243447", "#9aa5b1", "#3d7ea6"
WAVE_COLOURS = ("#d1495b", "#edae49", "#3d7ea6")
STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": "#e6eaee",
    "axes.axisbelow": True,
}


def save_plot(source: DagSource, path: Path) -> None:
    """Work per job, size against work, durations by wave, and arrivals (or a typical dag)."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(2, 2)
        figure.suptitle(_title(source), x=0.01, ha="left", fontsize=14, fontweight="bold")
        _work(axes[0, 0], source)
        _size(axes[0, 1], source)
        _durations(axes[1, 0], source.catalogue)
        if source.recorded is not None and source.recorded.arrival_s[-1] > 0:
            _arrivals(axes[1, 1], source)
        else:
            _typical_dag(axes[1, 1], source.catalogue)
        try:
            figure.savefig(path, dpi=120, facecolor="white")
        except OSError as error:
            raise DovetailError(f"{path} cannot be written: {error.strerror or error}") from error


def _title(source: DagSource) -> str:
    if source.recorded is not None:
        return f"{source.name}: {source.recorded.num_jobs:,} recorded jobs"
    return f"{source.name}: {source.catalogue.num_dags:,} kinds of job"


def _work(ax: Axes, source: DagSource) -> None:
    work_s = source.catalogue.dag_work_s[job_dags(source)]
    log_histogram(ax, work_s)
    top = ax.get_ylim()[1]
    for share, name in ((0.5, "median"), (0.95, "p95")):
        at = float(np.quantile(work_s, share))
        ax.axvline(at, color=INK, lw=1, ls="--")
        ax.annotate(f"{name} {at:,.0f} s", (at, top), xytext=(4, -11), textcoords="offset points", fontsize=9)
    ax.set(title="Work per job", xlabel="task-seconds", ylabel="jobs")


def log_histogram(ax: Axes, values: Floats) -> None:
    """Zeros, which a logarithmic axis does not have, are left out."""
    from matplotlib.ticker import MaxNLocator

    above = values[values > 0]
    if above.size:
        edges = np.geomspace(0.9 * above.min(), 1.1 * above.max(), 29)
        ax.hist(above, bins=edges.tolist(), color=FILL, edgecolor="white", lw=0.6)
        ax.set_xscale("log")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def _size(ax: Axes, source: DagSource) -> None:
    from matplotlib.ticker import MaxNLocator

    catalogue, dag = source.catalogue, job_dags(source)
    depth = catalogue.dag_depth[dag]
    points = ax.scatter(
        catalogue.dag_tasks[dag],
        catalogue.dag_work_s[dag],
        c=depth,
        s=26 if dag.size < 1000 else 7,
        cmap="viridis_r",
        alpha=0.8,
        lw=0,
    )
    ax.set_xscale("log")
    if catalogue.dag_work_s.any():
        ax.set_yscale("log")
    bar = ax.figure.colorbar(points, ax=ax, pad=0.01)
    bar.set_label("depth (stages in a row)")
    bar.locator = MaxNLocator(integer=True)
    bar.update_ticks()
    bar.outline.set_visible(False)
    ax.set(title="Tasks against work", xlabel="tasks per job", ylabel="task-seconds")


def _durations(ax: Axes, catalogue: DagCatalogue) -> None:
    """Mean task duration by wave: against executors, or as a distribution if there is one level only."""
    if np.unique(catalogue.duration_executors).size == 1:
        log_histogram(ax, catalogue.stage_mean_s)
        ax.set(title="Duration of a task", xlabel="seconds", ylabel="stages")
        return
    mean, _ = group_means(catalogue)
    for code, wave in enumerate(WAVES):
        here = catalogue.duration_wave == code
        levels = np.unique(catalogue.duration_executors[here])
        if not levels.size:
            continue
        parts = [mean[here & (catalogue.duration_executors == level)] for level in levels]
        middle = [float(np.median(part)) for part in parts]
        lower, upper = ([float(np.quantile(part, share)) for part in parts] for share in (0.25, 0.75))
        ax.plot(levels, middle, "o-", color=WAVE_COLOURS[code], ms=4)
        ax.annotate(
            f"{wave} wave",
            (levels[-1], middle[-1]),
            xytext=(7, -3),
            textcoords="offset points",
            color=WAVE_COLOURS[code],
            fontweight="bold",
        )
        ax.fill_between(levels, lower, upper, color=WAVE_COLOURS[code], alpha=0.13, lw=0)
    if mean.any():
        ax.set_yscale("log")
    ax.margins(x=0.12)
    ax.set(
        title="Duration of a task: median stage, and the middle half",
        xlabel="executors of the job",
        ylabel="seconds",
    )


def _arrivals(ax: Axes, source: DagSource) -> None:
    assert source.recorded is not None
    arrival_s, work_s = source.recorded.arrival_s, source.recorded.job_work_s
    minutes = arrival_s / 60
    ax.hist(minutes, bins=60, color=FILL, edgecolor="white", lw=0.4)
    ax.set(title="Arrivals", xlabel="minutes", ylabel="jobs")
    share = ax.twinx()
    share.plot(minutes, np.cumsum(work_s) / work_s.sum() * 100, color=WAVE_COLOURS[0], lw=1.5)
    share.set_ylim(0, 100)
    share.set_ylabel("work arrived, %", color=WAVE_COLOURS[0])
    share.grid(False)


def _typical_dag(ax: Axes, catalogue: DagCatalogue) -> None:
    """The dag with the median number of stages, drawn by level; circles grow with the number of tasks."""
    order = np.lexsort((catalogue.dag_work_s, catalogue.dag_stages))
    dag = int(order[order.size // 2])
    one = catalogue.single(dag)
    level = one.stage_level
    height = np.zeros(level.size)
    for depth in range(int(level.max()) + 1):
        here = np.flatnonzero(level == depth)
        height[here] = np.arange(here.size) - (here.size - 1) / 2
    for parent, child in zip(one.edge_parent, one.edge_child, strict=True):
        ax.annotate(
            "",
            (level[child], -height[child]),
            (level[parent], -height[parent]),
            arrowprops={"arrowstyle": "-|>", "color": FAINT, "shrinkA": 10, "shrinkB": 10},
        )
    size = 70 + 500 * np.sqrt(one.num_tasks / one.num_tasks.max())
    points = ax.scatter(level, -height, s=size, c=one.stage_mean_s, cmap="YlOrRd", edgecolors=INK, lw=0.8)
    for stage in range(level.size):
        away = 4 + np.sqrt(size[stage]) / 2  # below and above in turn, so that neighbours do not collide
        shift = (0, -away - 6) if level[stage] % 2 == 0 else (0, away)
        text = f"{one.stage_name[stage]} ×{one.num_tasks[stage]}"
        ax.annotate(text, (level[stage], -height[stage]), shift, textcoords="offset points", ha="center", fontsize=7)
    bar = ax.figure.colorbar(points, ax=ax, pad=0.01)
    bar.set_label("mean task, s")
    bar.outline.set_visible(False)
    ax.margins(0.12, 0.3)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(False)
    ax.set_xticks(range(int(level.max()) + 1))
    ax.set(title=f"A typical job: {one.dag_name[0]}", xlabel="level")
