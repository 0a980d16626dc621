"""What a gpu workload is like, in numbers: demands, durations, arrivals, load, and all that beside another's."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.cluster.gpu_speed import SpeedModel, default_speeds
from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.describe import gini, short, spread
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_alone import fits
from dovetail.workloads.gpu_source import GpuSource, capacity

SAMPLE = 5000  # jobs drawn to say what a distribution is like
SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
GROUPS = ("none", "a share", "1", "2", "3-4", "5-8", "9-16", "17 or more")
"""Of jobs by the GPUs of all their workers."""


def describe_gpu(
    source: GpuSource,
    *,
    cluster: GpuCluster | None = None,
    jobs: int | None = None,
    seed: int = 0,
    speeds: SpeedModel | None = None,
) -> dict[str, Any]:
    """Everything there is to say, as plain values.

    Jobs are the recorded ones, or 5,000 drawn ones.  Arrivals are those of the recorded jobs or of the sequence of
    `seed`, the load is what such jobs ask of this cluster.  `speeds` must know all kinds of the jobs; without it,
    speeds are those of the kinds that the default model knows.
    """
    cluster = source.cluster if cluster is None else cluster
    jobs = source.jobs if jobs is None else jobs
    if jobs < 1:
        raise ConfigError(f"{jobs} jobs; expected at least 1")
    sample = sample_jobs(source, cluster, seed)
    machines = cluster.arrays()
    by_type = np.bincount(machines.type, machines.gpus, minlength=len(GPU_TYPES))
    fitting = fits(sample, cluster)
    return {
        "schema": 1,
        "family": "gpu",
        "name": source.name,
        "setting": {
            "jobs": jobs,
            "machines": len(machines.name),
            "racks": int(np.unique(machines.rack).size),
            "gpus": {GPU_TYPES[t].name: int(by_type[t]) for t in np.flatnonzero(by_type)},
            "arrivals": source.arrivals.kind,
        },
        "counts": {
            "recorded_jobs": None if source.recorded is None else source.recorded.num_jobs,
            "described_jobs": sample.num_jobs,
            "users": int(np.unique(sample.user).size),
            "kinds": int(np.unique(sample.kind).size),
        },
        "per_job": {name: spread(values) for name, values in job_columns(sample).items() if values.size},
        "gpus_per_job": gpu_shares(sample),
        "quantiles": quantiles(sample),
        "fitting_share": float(fitting.mean()),
        "skew": {"gini_of_gpu_seconds": gini(sample.gpu_seconds), "busiest_user_share": _busiest(sample)},
        "kinds": _kinds(sample),
        "speed": _speed(sample, np.flatnonzero(by_type), speeds),
        "restricted_share": float((sample.types >= 0).mean()),
        "load": _load(cluster, sample, jobs),
    }


def sample_jobs(source: GpuSource, cluster: GpuCluster, seed: int = 0) -> GpuWorkload:
    """All recorded jobs, or so many drawn ones that their distribution shows."""
    if source.recorded is not None:
        return source.recorded
    return source.sequence(SAMPLE, source.arrivals, cluster, SeedTree(seed))


def job_columns(jobs: GpuWorkload) -> dict[str, Floats | Ints]:
    """What jobs are described by; demands for each GPU are those of jobs that need one or more."""
    total = jobs.workers * jobs.gpus
    whole = total >= 1
    return {
        "gpus": total,
        "workers": jobs.workers,
        "work_s": jobs.work_s,
        "gpu_hours": jobs.gpu_seconds / 3600,
        "cpus_per_gpu": jobs.cpus[whole] / jobs.gpus[whole],
        "memory_gb_per_gpu": jobs.memory[whole] / jobs.gpus[whole],
        "estimate_over_work": jobs.estimate_s / jobs.work_s,
        "gap_s": np.diff(jobs.arrival_s),
    }


def quantiles(jobs: GpuWorkload) -> dict[str, list[float]]:
    """At `SHARES`."""
    columns = job_columns(jobs)
    names = ("gpus", "work_s", "cpus_per_gpu", "memory_gb_per_gpu", "gap_s")
    return {name: np.quantile(columns[name], SHARES).tolist() for name in names if columns[name].size}


def gpu_shares(jobs: GpuWorkload) -> dict[str, float]:
    """Of jobs in `GROUPS`."""
    total = jobs.workers * jobs.gpus
    group = np.searchsorted((0, 1 - 1e-9, 1 + 1e-9, 2 + 1e-9, 4 + 1e-9, 8 + 1e-9, 16 + 1e-9), total, side="left")
    return {name: float((group == code).mean()) for code, name in enumerate(GROUPS)}


def beside(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Two summaries side by side: how many GPUs, how long, how often, how much for each GPU."""
    names = (str(one["name"])[:24], str(other["name"])[:24])
    lines = [f"{'GPUs of a job':28}" + "".join(f"{name:>26}" for name in names)]
    for group in GROUPS:
        cells = "".join(f"{summary['gpus_per_job'][group]:>26.1%}" for summary in (one, other))
        lines.append(f"  {group:26}{cells}")
    titles = {
        "work_s": "work, s",
        "cpus_per_gpu": "processors for each GPU",
        "memory_gb_per_gpu": "memory for each GPU, GB",
        "gap_s": "seconds between arrivals",
    }
    for name, title in titles.items():
        lines.append(title)
        for place, share in enumerate(SHARES):
            cells = "".join(f"{_cell(summary, name, place):>26}" for summary in (one, other))
            lines.append(f"  {f'{share:.0%} at most':26}{cells}")
    for title, key in (("cv of work", "work_s"), ("cv of seconds between arrivals", "gap_s")):
        cells = "".join(f"{short(summary['per_job'].get(key, {}).get('cv')):>24}" for summary in (one, other))
        lines.append(f"{title:32}{cells}")
    return "\n".join(lines)


def _cell(summary: dict[str, Any], name: str, place: int) -> str:
    values = summary["quantiles"].get(name)
    return short(values[place]) if values else "-"


def _busiest(jobs: GpuWorkload) -> float:
    return float(np.bincount(jobs.user).max() / jobs.num_jobs)


def _kinds(jobs: GpuWorkload) -> dict[str, float]:
    counts = np.bincount(jobs.kind, minlength=len(jobs.kind_name)) / jobs.num_jobs
    order = np.argsort(-counts, kind="stable")
    return {jobs.kind_name[kind]: float(counts[kind]) for kind in order if counts[kind] > 0}


def _speed(jobs: GpuWorkload, types: Ints, speeds: SpeedModel | None) -> dict[str, float]:
    """On each type, alone: the mean over jobs with GPUs."""
    known = default_speeds() if speeds is None else speeds
    here = [jobs.kind_name[kind] for kind in jobs.kind[jobs.gpus > 0]]
    if speeds is None:
        here = [name for name in here if name in known.kind_name]
    if not here:
        return {}
    mean = known.rows(here).speed.mean(axis=0)
    return {GPU_TYPES[t].name: float(mean[t]) for t in types}


def _load(cluster: GpuCluster, sample: GpuWorkload, jobs: int) -> dict[str, Any]:
    """What arrives in a second as a share of what the cluster can do, by resource; None where nothing comes apart."""
    machines = cluster.arrays()
    span_s = float(sample.arrival_s[-1] - sample.arrival_s[0])
    interval_s = span_s / (sample.num_jobs - 1) if sample.num_jobs > 1 and span_s > 0 else None
    each = {
        "gpus": (float(sample.gpu_seconds.mean()), capacity(cluster, sample.kind_name)),
        "cpus": (float((sample.workers * sample.cpus * sample.work_s).mean()), float(machines.cpus.sum())),
        "memory": (float((sample.workers * sample.memory * sample.work_s).mean()), float(machines.memory.sum())),
    }
    return {
        "interval_s": interval_s,
        "span_s": None if interval_s is None else interval_s * jobs,
        **{
            name: None if interval_s is None or there <= 0 else asked / (interval_s * there)
            for name, (asked, there) in each.items()
        },
    }


def gpu_as_text(summary: dict[str, Any]) -> str:
    """The summary for a person."""
    setting, counts, load = summary["setting"], summary["counts"], summary["load"]
    recorded = counts["recorded_jobs"]
    what = f"{recorded:,} recorded jobs" if recorded is not None else "jobs drawn from a distribution"
    devices = " + ".join(f"{count:,} {name}" for name, count in setting["gpus"].items()) or "no GPUs"
    head = ("mean", "min", "p50", "p95", "max", "cv")
    lines = [
        f"{summary['name']}: {what} of {counts['users']:,} users and {counts['kinds']} kinds; {setting['machines']:,} "
        f"machines in {setting['racks']:,} racks ({devices}), arrivals {setting['arrivals']}",
        "",
        f"{'':22}" + "".join(f"{name:>11}" for name in head),
    ]
    lines += [
        f"{name:22}" + "".join(f"{short(row[key]):>11}" for key in head) for name, row in summary["per_job"].items()
    ]
    groups = "; ".join(f"{name} {share:.1%}" for name, share in summary["gpus_per_job"].items() if share > 0)
    kinds = "; ".join(f"{name} {share:.0%}" for name, share in list(summary["kinds"].items())[:6])
    more = len(summary["kinds"]) - 6
    lines += [
        "",
        f"GPUs of a job: {groups}",
        f"kinds: {kinds}{f'; and {more} more' if more > 0 else ''}",
        f"skew: Gini of GPU-seconds {summary['skew']['gini_of_gpu_seconds']:.2f}; the busiest user sent "
        f"{summary['skew']['busiest_user_share']:.0%} of the jobs",
        f"fit: {summary['fitting_share']:.1%} of the jobs fit the empty cluster; {summary['restricted_share']:.0%} may "
        "run on some types only",
    ]
    if summary["speed"]:
        by_type = ", ".join(f"{short(value)} on {name}" for name, value in summary["speed"].items())
        lines.append(f"speed of a job with GPUs, alone: {by_type}")
    if load["interval_s"] is None:
        lines.append("load: all jobs come at once")
    else:
        shares = ", ".join(
            f"{short(100 * load[name])} % of the {words}"
            for name, words in (("gpus", "GPUs"), ("cpus", "processors"), ("memory", "memory"))
            if load[name] is not None
        )
        lines.append(
            f"load: a job every {short(load['interval_s'])} s asks for {shares}, slow-downs not counted; "
            f"{setting['jobs']:,} jobs come in {short(load['span_s'] / 3600)} hours"
        )
    return "\n".join(lines)
