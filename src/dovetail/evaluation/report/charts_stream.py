"""The line charts of a report of the stream family: records, instances, latency, rescales, and delays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.core.stream import LATENCY_CAP, Floats
from dovetail.evaluation.report.charts import Chart, count_axis
from dovetail.evaluation.report.curves import Curve, thinned
from dovetail.evaluation.report.palette import REFERENCE
from dovetail.evaluation.report.svg import Axis, log_axis, nice_axis
from dovetail.records.stream import HOUR_S, StreamRun

Shown = list[tuple[int, str, StreamRun]]
Curves = tuple[tuple[int, str, Curve], ...]
SHARE = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
TIME = "time, h"


def make_charts(shown: Shown) -> tuple[Chart, ...]:
    """None without runs."""
    if not shown:
        return ()
    first = shown[0][2]
    start = min(float(run.interval_start_s[0]) for _, _, run in shown) / HOUR_S
    time = nice_axis(max(run.end_s for _, _, run in shown) / HOUR_S, start)
    read = ("at", " h")

    def drawn(make: Callable[[StreamRun], Floats]) -> Curves:
        return tuple((place, name, _steps(run, make(run))) for place, name, run in shown)

    came = (REFERENCE, "arrived", _steps(first, arrived(first)))
    slo = (REFERENCE, "SLO", Curve(np.array([time.low, time.high]), np.ones(2)))
    rate = (*drawn(delivered), came)
    instances, rescales, late = drawn(standing), drawn(rescaled), (*drawn(lateness), slo)
    return (
        Chart(
            "rate",
            "Records delivered",
            "a second, of all jobs; dashed: that arrived",
            TIME,
            time,
            count_axis(rate),
            rate,
            read=read,
        ),
        Chart("instances", "Instances", "of all operators", TIME, time, count_axis(instances), instances, read=read),
        Chart(
            "latency",
            "Latency",
            f"in units of the SLO, {LATENCY_CAP:g} at most; mean over jobs",
            TIME,
            time,
            count_axis(late),
            late,
            read=read,
        ),
        Chart(
            "rescales",
            "Rescales",
            "jobs stopped to change their parallelism, so far",
            TIME,
            time,
            count_axis(rescales),
            rescales,
            read=read,
        ),
        Chart(
            "use",
            "Instances busy",
            "share of their time, mean over operators",
            TIME,
            time,
            SHARE,
            drawn(utilisation),
            percent=True,
            read=read,
        ),
        _delay_chart(shown),
    )


def arrived(run: StreamRun) -> Floats:
    """(I,) records a second."""
    total: Floats = run.of_jobs("arrived").sum(axis=1) / run.interval_s
    return total


def delivered(run: StreamRun) -> Floats:
    """(I,) records a second."""
    total: Floats = run.of_jobs("delivered").sum(axis=1) / run.interval_s
    return total


def standing(run: StreamRun) -> Floats:
    """(I,) instances."""
    total: Floats = run.parallelism.sum(axis=1).astype(np.float64)
    return total


def lateness(run: StreamRun) -> Floats:
    """(I,) latency in SLOs, as the reward counts it."""
    late: Floats = np.minimum(run.of_jobs("latency_s") / run.jobs.slo_s, LATENCY_CAP).mean(axis=1)
    return late


def rescaled(run: StreamRun) -> Floats:
    """(I,) so far."""
    total: Floats = np.cumsum(run.of_jobs("rescaled").sum(axis=1)).astype(np.float64)
    return total


def utilisation(run: StreamRun) -> Floats:
    """(I,)"""
    mean: Floats = run.of_jobs("utilisation").mean(axis=1)
    return mean


def delays(run: StreamRun) -> Curve:
    """Share of the records that were delivered within x seconds, of those that were."""
    order = np.argsort(run.delays.to_s, kind="stable")
    to_s, records = run.delays.to_s[order], run.delays.records[order]
    total = float(records.sum())
    known = np.isfinite(to_s)
    share = np.cumsum(records)[known] / total if total > 0 else np.zeros(int(known.sum()))
    return thinned(Curve(to_s[known], share))


def _delay_chart(shown: Shown) -> Chart:
    curves: Curves = tuple((place, name, delays(run)) for place, name, run in shown)
    points = np.concatenate([curve.x for _, _, curve in curves])
    low, high = (float(points.min()), float(points.max())) if points.size else (0.1, 1.0)
    low = max(low, high * 1e-5)
    return Chart(
        "delays",
        "How long records take",
        "share of the records delivered within a given time",
        "delay, s",
        log_axis(low * 0.95, max(high, low * 2.0) * 1.02),
        SHARE,
        curves,
        percent=True,
        read=("within", " s"),
    )


def _steps(run: StreamRun, values: Floats) -> Curve:
    """By interval, until the end of the last."""
    x = np.append(run.interval_start_s, run.end_s) / HOUR_S
    return thinned(Curve(x, np.append(values, values[-1:])))
