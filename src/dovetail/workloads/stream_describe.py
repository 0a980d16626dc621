"""What a stream workload is like, in numbers: rates, operators, and how many instances they ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import DAY_S, Floats
from dovetail.workloads.describe import short, spread
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_alone import steady_latency_s
from dovetail.workloads.stream_jobs import START_UTILISATION, StreamJobs, instances_for
from dovetail.workloads.stream_rates import RecordedRates
from dovetail.workloads.stream_source import StreamSource

HOUR_S = 3600.0
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def describe_stream(source: StreamSource, *, duration_s: float | None = None, seed: int = 0) -> dict[str, Any]:
    """Everything there is to say, as plain values; rates are those of the sequence of `seed`."""
    work = source.sequence(duration_s, SeedTree(seed))
    jobs = source.table
    rates = [rate_summary(work.rate[job], work.bin_s) for job in range(work.num_jobs)]
    peak = np.array([each["peak_hour"] or each["max"] for each in rates]) / jobs.job_rate
    return {
        "schema": 1,
        "family": "stream",
        "name": source.name,
        "setting": {
            "duration_s": work.duration_s,
            "interval_s": source.interval_s,
            "slots": jobs.slots,
            "rates": source.rates.name,
            "bin_s": work.bin_s,
            "clock_s": work.clock_s,
            "jitter": source.jitter,
        },
        "counts": {"jobs": jobs.num_jobs, "operators": jobs.num_operators, "edges": len(jobs.edge_from)},
        "rates": dict(zip(jobs.job_name, rates, strict=True)),
        "jobs": _jobs(jobs, peak),
        "operators": _operators(jobs, work, peak),
        "demand": spread(jobs.demand()),
    }


def describe_rates(rates: RecordedRates) -> dict[str, Any]:
    """The same for rates without jobs."""
    series = rates.recorded
    found = [rate_summary(series.rate[place], series.bin_s) for place in range(len(series.name))]
    return {
        "schema": 1,
        "family": "stream",
        "name": rates.name,
        "setting": {"duration_s": series.duration_s, "bin_s": series.bin_s, "clock_s": series.clock_s},
        "counts": {"series": len(series.name), "bins": int(series.rate.shape[1])},
        "rates": dict(zip(series.name, found, strict=True)),
    }


def rate_summary(rate: Floats, bin_s: float) -> dict[str, float | None]:
    """Records a second: of bins, of whole hours, within an hour and from one hour to the next; None: too short."""
    summary: dict[str, float | None] = dict(spread(rate))
    summary |= dict.fromkeys(("peak_hour", "quiet_hour", "cv_within_hour", "hour_change", "hour_change_p95"))
    hours = by_hour(rate, bin_s)
    if hours is None:
        return summary
    mean = hours.mean(axis=1)
    summary |= {"peak_hour": float(mean.max()), "quiet_hour": float(mean.min())}
    above = mean > 0
    if hours.shape[1] > 1 and above.any():
        summary["cv_within_hour"] = float((hours[above].std(axis=1) / mean[above]).mean())
    both = above[1:] & above[:-1]
    if both.any():
        change = np.abs(np.log(mean[1:][both] / mean[:-1][both]))
        summary |= {"hour_change": float(change.mean()), "hour_change_p95": float(np.quantile(change, 0.95))}
    return summary


def by_hour(rate: Floats, bin_s: float) -> Floats | None:
    """(hours, bins of an hour) of whole hours; None where there is none, or bins do not fit."""
    each = HOUR_S / bin_s
    whole = int(rate.size // each) if each >= 1 and each % 1 == 0 else 0
    return rate[: whole * int(each)].reshape(whole, int(each)) if whole else None


def _jobs(jobs: StreamJobs, peak: Floats) -> list[dict[str, Any]]:
    demand, level, parents = jobs.demand(), jobs.level(), jobs.parents()
    children = np.bincount(jobs.edge_from, minlength=jobs.num_operators)
    late_s = steady_latency_s(jobs, START_UTILISATION)
    rows = []
    for job, name in enumerate(jobs.job_name):
        own = jobs.op_job == job
        rows.append(
            {
                "job": name,
                "rate": float(jobs.job_rate[job]),
                "operators": int(own.sum()),
                "sources": int((own & (parents == 0)).sum()),
                "joins": int((own & (parents > 1)).sum()),
                "sinks": int((own & (children == 0)).sum()),
                "depth": int(level[own].max()) + 1,
                "demand": float(demand[own].sum()),
                "demand_at_peak": float(demand[own].sum() * peak[job]),
                "start": int(jobs.op_start[own].sum()),
                "state_mb": float(jobs.op_state_mb[own].sum()),
                "restart_s": float(jobs.job_restart_s[job]),
                "checkpoint_s": float(jobs.job_checkpoint_s[job]),
                "slo_s": float(jobs.job_slo_s[job]),
                "steady_latency_s": float(late_s[job]),
            }
        )
    return rows


def _operators(jobs: StreamJobs, work: StreamWorkload, peak: Floats) -> list[dict[str, Any]]:
    demand, level = jobs.demand(), jobs.level()
    rows = []
    for at, name in enumerate(jobs.op_name):
        most = int(jobs.op_max[at])
        fed = jobs.edge_from[jobs.edge_to == at]
        rows.append(
            {
                "job": jobs.job_name[jobs.op_job[at]],
                "operator": name,
                "level": int(level[at]),
                "fed_by": [jobs.op_name[origin] for origin in fed],
                "service_ms": float(1000 * jobs.op_service_s[at]),
                "selectivity": float(jobs.op_selectivity[at]),
                "gain": float(work.gain[at]),
                "skew": float(jobs.op_skew[at]),
                "variability": float(jobs.op_variability[at]),
                "buffer": float(jobs.op_buffer[at]),
                "state_mb": float(jobs.op_state_mb[at]),
                "demand": float(demand[at]),
                "start": int(jobs.op_start[at]),
                "at_peak": instances_for(demand[at] * peak[jobs.op_job[at]], jobs.op_skew[at], most),
                "max": most,
            }
        )
    return rows


def stream_as_text(summary: dict[str, Any]) -> str:
    """The summary for a person."""
    setting, counts = summary["setting"], summary["counts"]
    lines = []
    if "jobs" in counts:
        lines += [
            f"{summary['name']}: {counts['jobs']:,} jobs of {counts['operators']:,} operators and {counts['edges']:,} "
            f"edges, {setting['slots']:,} slots; rates {setting['rates']}, decisions every {setting['interval_s']:g} s",
            "",
            _table(summary["jobs"], _JOB_HEADS),
            "",
            _table(summary["operators"], _OPERATOR_HEADS),
            "",
            f"demand: instances busy at the mean rate; start: instances at the start; peak: instances of which "
            f"{START_UTILISATION:.0%} are busy in the peak hour",
        ]
    else:
        lines.append(f"{summary['name']}: rates, {counts['bins']:,} bins; no jobs")
    day, hour = divmod(setting["clock_s"], DAY_S)
    lines += [
        "",
        f"rates: {setting['duration_s'] / HOUR_S:.6g} hours from {_DAYS[int(day)]} {hour / HOUR_S:.4g} h on, in bins "
        f"of {setting['bin_s']:g} s; records a second",
        _table([{"series": name, **row} for name, row in summary["rates"].items()], _RATE_HEADS),
        "cv: within an hour; change: mean absolute logarithm from hour to hour, and its 95th percentile",
    ]
    return "\n".join(lines)


_JOB_HEADS = {
    "job": "job",
    "rate": "rate",
    "operators": "operators",
    "sources": "sources",
    "joins": "joins",
    "sinks": "sinks",
    "depth": "depth",
    "demand": "demand",
    "demand_at_peak": "at peak",
    "start": "start",
    "state_mb": "state MB",
    "restart_s": "restart s",
    "slo_s": "SLO s",
}
_OPERATOR_HEADS = {
    "job": "job",
    "operator": "operator",
    "level": "level",
    "service_ms": "ms",
    "selectivity": "out/in",
    "gain": "gain",
    "skew": "skew",
    "variability": "var",
    "buffer": "buffer",
    "state_mb": "state MB",
    "demand": "demand",
    "start": "start",
    "at_peak": "peak",
    "max": "max",
    "fed_by": "fed by",
}
_RATE_HEADS = {
    "series": "series",
    "mean": "mean",
    "min": "min",
    "p50": "p50",
    "p95": "p95",
    "max": "max",
    "quiet_hour": "quiet hour",
    "peak_hour": "peak hour",
    "cv_within_hour": "cv",
    "hour_change": "change",
    "hour_change_p95": "p95",
}


def _table(rows: list[dict[str, Any]], heads: dict[str, str]) -> str:
    cells = [list(heads.values())] + [[_cell(row[name]) for name in heads] for row in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    left = [isinstance(rows[0][name], str | list) for name in heads]
    return "\n".join(
        "  ".join(
            text.ljust(width) if start else text.rjust(width)
            for text, width, start in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in cells
    )


def _cell(value: str | list[str] | float | None) -> str:
    if isinstance(value, str):
        return value
    return ", ".join(value) if isinstance(value, list) else short(value)
