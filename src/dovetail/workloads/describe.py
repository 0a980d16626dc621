"""What a workload is like, in numbers: sizes, skew, and the load it puts on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.dag import MAX_EXECUTORS, Floats, Ints
from dovetail.core.errors import ConfigError
from dovetail.workloads.arrivals import Arrivals, interval_for, load_for
from dovetail.workloads.dag import WAVES, DagCatalogue
from dovetail.workloads.source import DagSource

Numbers = Floats | Ints


def describe(source: DagSource, *, executors: int, interval_s: float) -> dict[str, Any]:
    """Everything there is to say, as plain values.  Jobs are the recorded ones, or one of each dag."""
    Arrivals("poisson", interval_s=interval_s)  # refuses what is not an interval
    if not 1 <= executors <= MAX_EXECUTORS:
        raise ConfigError(f"executors: 1 to {MAX_EXECUTORS:,} are possible, not {executors}")
    catalogue = source.catalogue
    dag = job_dags(source)
    work_s = catalogue.dag_work_s[dag]
    return {
        "schema": 1,
        "family": "dag",
        "name": source.name,
        "counts": {
            "jobs": None if source.recorded is None else source.recorded.num_jobs,
            "dags": catalogue.num_dags,
            "stages": catalogue.num_stages,
            "edges": int(catalogue.edge_parent.size),
            "tasks": int(catalogue.num_tasks.sum()),
            "duration_samples": int(catalogue.duration_s.size),
        },
        "per_job": {
            "stages": spread(catalogue.dag_stages[dag]),
            "depth": spread(catalogue.dag_depth[dag]),
            "tasks": spread(catalogue.dag_tasks[dag]),
            "work_s": spread(work_s),
            "critical_path_s": spread(catalogue.dag_critical_path_s[dag]),
        },
        "per_stage": {
            "tasks": spread(catalogue.num_tasks),
            "task_s": spread(catalogue.stage_mean_s),
            "cpu": spread(catalogue.cpu),
            "memory": spread(catalogue.memory),
        },
        "skew": {
            "gini_of_work": gini(work_s),
            "share_of_largest_tenth": _top_share(work_s),
            "cv_within_stage": _cv_within_groups(catalogue),
        },
        "waves": _waves(catalogue),
        "load": _load(source, executors, interval_s),
    }


def job_dags(source: DagSource) -> Ints:
    """(J,) the dag of each recorded job; each dag once if nothing was recorded."""
    if source.recorded is not None:
        return source.recorded.job_dag
    return np.arange(source.catalogue.num_dags)


def spread(values: Numbers) -> dict[str, float]:
    mean = float(values.mean())
    p50, p95 = np.quantile(values, (0.5, 0.95))
    return {
        "mean": mean,
        "min": float(values.min()),
        "p50": float(p50),
        "p95": float(p95),
        "max": float(values.max()),
        "cv": float(values.std() / mean) if mean else 0.0,
    }


def gini(values: Floats) -> float:
    """0 when all are equal, near 1 when one has everything."""
    total = float(values.sum())
    if total == 0:
        return 0.0
    rank = np.arange(1, values.size + 1)
    return float((2 * rank - values.size - 1) @ np.sort(values) / (values.size * total))


def _top_share(values: Floats) -> float:
    """Share of the total that the largest tenth (at least one) holds."""
    top = np.sort(values)[-max(1, values.size // 10) :]
    total = float(values.sum())
    return float(top.sum()) / total if total else 0.0


def group_means(catalogue: DagCatalogue) -> tuple[Floats, Floats]:
    """(G,), (G,) mean and standard deviation of each sample group."""
    size = np.diff(catalogue.duration_ptr)
    mean = np.add.reduceat(catalogue.duration_s, catalogue.duration_ptr[:-1]) / size
    off = catalogue.duration_s - np.repeat(mean, size)
    return mean, np.sqrt(np.add.reduceat(off**2, catalogue.duration_ptr[:-1]) / size)


def _cv_within_groups(catalogue: DagCatalogue) -> float | None:
    """Median over groups of at least 8 samples; None if there is none."""
    mean, deviation = group_means(catalogue)
    large = (np.diff(catalogue.duration_ptr) >= 8) & (mean > 0)
    return float(np.median(deviation[large] / mean[large])) if large.any() else None


def _waves(catalogue: DagCatalogue) -> dict[str, Any]:
    """Median over stages of the mean duration, by wave and executor count."""
    mean, _ = group_means(catalogue)
    result: dict[str, Any] = {}
    for code, wave in enumerate(WAVES):
        here = catalogue.duration_wave == code
        levels = np.unique(catalogue.duration_executors[here])
        result[wave] = {
            str(level): float(np.median(mean[here & (catalogue.duration_executors == level)])) for level in levels
        }
    return result


def _load(source: DagSource, executors: int, interval_s: float) -> dict[str, Any]:
    load: dict[str, Any] = {
        "executors": executors,
        "interval_s": interval_s,
        "load": load_for(interval_s, executors, source.mean_work_s),
        "interval_s_for_85_percent": interval_for(0.85, executors, source.mean_work_s),
    }
    if source.recorded is not None and source.recorded.num_jobs > 1:
        span_s = float(source.recorded.arrival_s[-1] - source.recorded.arrival_s[0])
        if span_s > 0:
            load["recorded_span_s"] = span_s
            load["recorded_interval_s"] = span_s / (source.recorded.num_jobs - 1)
            load["recorded_load"] = load_for(load["recorded_interval_s"], executors, source.mean_work_s)
    return load


def as_text(summary: dict[str, Any]) -> str:
    """The summary for a person."""
    counts, skew, load = summary["counts"], summary["skew"], summary["load"]
    jobs = "no recorded sequence" if counts["jobs"] is None else f"{counts['jobs']:,} recorded jobs"
    head = ("mean", "min", "p50", "p95", "max", "cv")
    lines = [
        f"{summary['name']}: {jobs}, {counts['dags']:,} dags, {counts['stages']:,} stages, "
        f"{counts['edges']:,} edges, {counts['duration_samples']:,} duration samples",
        "",
        f"{'':22}" + "".join(f"{name:>11}" for name in head),
    ]
    for title, part in (("per job", "per_job"), ("per stage", "per_stage")):
        for name, row in summary[part].items():
            lines.append(f"{f'{name} {title}':22}" + "".join(f"{short(row[key]):>11}" for key in head))
    lines += ["", f"{'mean task, s':22}" + _levels_head(summary["waves"])]
    for wave, levels in summary["waves"].items():
        row = "".join(f"{short(levels.get(level)):>9}" for level in _levels(summary["waves"]))
        lines.append(f"  {f'{wave} wave':20}{row}")
    cv = skew["cv_within_stage"]
    lines += [
        "",
        f"skew: Gini of work {skew['gini_of_work']:.2f}; the largest tenth of the jobs is "
        f"{skew['share_of_largest_tenth']:.0%} of the work"
        + ("" if cv is None else f"; tasks of a stage vary by {cv:.0%}"),
        f"load: {load['load']:,.0%} of {load['executors']} executors with a job every "
        f"{load['interval_s']:g} s; 85 % with one every {short(load['interval_s_for_85_percent'])} s",
    ]
    if "recorded_load" in load:
        span, gap = short(load["recorded_span_s"]), short(load["recorded_interval_s"])
        busy = f"{load['recorded_load']:,.0%} of {load['executors']} executors"
        lines.append(f"recorded: {span} s, a job every {gap} s, {busy}")
    return "\n".join(lines)


def _levels(waves: dict[str, Any]) -> list[str]:
    levels = sorted({level for by_level in waves.values() for level in by_level}, key=int)
    step = -(-len(levels) // 8)  # at most eight columns
    return levels[::step]


def _levels_head(waves: dict[str, Any]) -> str:
    return "".join(f"{f'{level} ex.':>9}" for level in _levels(waves))


def short(value: float | None) -> str:
    """Three significant digits, thousands apart."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
