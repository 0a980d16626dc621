"""The line charts of a report of the gpu family: completion times, queue, GPUs, speeds and fees."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats
from dovetail.evaluation.report.charts import Chart, count_axis, jct_chart
from dovetail.evaluation.report.curves import MAX_POINTS, Curve, distribution, running_sum, thinned
from dovetail.evaluation.report.svg import Axis, nice_axis
from dovetail.records.gpu import HOUR_S, GpuRun

LONG_S = 3 * HOUR_S  # runs from here on are shown in hours

Shown = list[tuple[int, str, GpuRun]]
Curves = tuple[tuple[int, str, Curve], ...]


class Clock(NamedTuple):
    """What times are shown in."""

    unit: str
    seconds: float

    def curve(self, curve: Curve) -> Curve:
        return Curve(curve.x / self.seconds, curve.y)


def clock_for(shown: Shown) -> Clock:
    """Hours where runs are long."""
    longest_s = max((run.end_s for _, _, run in shown), default=0.0)
    return Clock("h", HOUR_S) if longest_s >= LONG_S else Clock("s", 1.0)


def make_charts(shown: Shown) -> tuple[Chart, ...]:
    """None without runs."""
    if not shown:
        return ()
    clock = clock_for(shown)
    label, read = f"time, {clock.unit}", ("at", f" {clock.unit}")
    time = nice_axis(1.02 * max(run.end_s for _, _, run in shown) / clock.seconds)

    def drawn(make: Callable[[GpuRun], Curve]) -> Curves:
        return tuple((place, name, clock.curve(thinned(make(run)))) for place, name, run in shown)

    taken = [run.completion_s / clock.seconds for _, _, run in shown]
    jct = [(place, name, distribution(one)) for (place, name, _), one in zip(shown, taken, strict=True)]
    waiting, running, paid = drawn(jobs_waiting), drawn(jobs_running), drawn(fee_paid)
    busy, speed = drawn(gpus_busy), drawn(relative_speed)
    share = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    return (
        jct_chart(jct, np.concatenate(taken), x_label=f"completion time, {clock.unit}", unit=clock.unit),
        Chart(
            "waiting", "Jobs waiting", "arrived, and not running", label, time, count_axis(waiting), waiting, read=read
        ),
        Chart(
            "running", "Jobs running", "all their workers stand", label, time, count_axis(running), running, read=read
        ),
        Chart("busy", "GPUs in use", "held by jobs, of all", label, time, share, busy, percent=True, read=read),
        Chart(
            "speed",
            "Speed of running jobs",
            "mean, against alone on GPUs of the same types",
            label,
            time,
            _speed_axis(speed),
            speed,
            percent=True,
            read=read,
        ),
        Chart("fee", "Fees, USD", "paid so far by all jobs", label, time, count_axis(paid), paid, read=read),
    )


def jobs_running(run: GpuRun) -> Curve:
    ones = np.ones(len(run.segments))
    return _sum((run.segments.start_s, ones), (run.segment_end_s, -ones), end_s=run.end_s)


def jobs_waiting(run: GpuRun) -> Curve:
    """In the system, and not running."""
    finish_s = run.jobs.finish_s[np.isfinite(run.jobs.finish_s)]
    ended_s = run.segments.end_s[np.isfinite(run.segments.end_s)]
    return _sum(
        (run.jobs.arrival_s, np.ones(len(run.jobs))),
        (finish_s, -np.ones(finish_s.size)),
        (run.segments.start_s, -np.ones(len(run.segments))),
        (ended_s, np.ones(ended_s.size)),
        end_s=run.end_s,
    )


def gpus_busy(run: GpuRun) -> Curve:
    """Share of the GPUs that jobs hold."""
    gpus = run.jobs.all_gpus[run.segments.job] / max(run.num_gpus, 1)
    held = _sum((run.segments.start_s, gpus), (run.segment_end_s, -gpus), end_s=run.end_s)
    return Curve(held.x, np.clip(held.y, 0.0, 1.0))


def relative_speed(run: GpuRun) -> Curve:
    """Mean over the jobs that run; where none does, as it was before."""
    order = np.argsort(run.speed_segment, kind="stable")
    segment, time_s = run.speed_segment[order], run.speeds.time_s[order]
    value = run.speeds.speed[order] / run.segments.alone[segment]
    fresh = np.diff(segment, prepend=-1) != 0
    before = np.where(fresh, 0.0, np.concatenate(([0.0], value[:-1])))
    last = np.flatnonzero(np.append(fresh[1:], True)) if segment.size else np.zeros(0, np.int64)
    when = np.concatenate((time_s, run.segment_end_s[segment[last]]))
    total = _steps(when, np.concatenate((value - before, -value[last])))
    count = _steps(when, np.concatenate((fresh.astype(np.float64), -np.ones(last.size))))
    some = count.y > 0.5
    return Curve(total.x[some], total.y[some] / count.y[some]) if some.any() else Curve(np.zeros(1), np.ones(1))


def fee_paid(run: GpuRun) -> Curve:
    """By all jobs so far, at as many times as a chart can show."""
    rate = _steps(
        np.concatenate((run.segments.start_s, run.segment_end_s)),
        np.concatenate((run.usd_per_hour, -run.usd_per_hour)),
    )
    grid = np.linspace(0.0, run.end_s, MAX_POINTS)
    if not rate.x.size:
        return Curve(grid, np.zeros(grid.size))
    paid = np.concatenate(([0.0], np.cumsum(rate.y[:-1] * np.diff(rate.x)))) / HOUR_S
    return Curve(grid, np.interp(grid, rate.x, paid))


def _sum(*steps: tuple[Floats, Floats], end_s: float) -> Curve:
    """The running sum from 0 to the end."""
    when = np.concatenate(([0.0, end_s], *(time_s for time_s, _ in steps)))
    return running_sum(when, np.concatenate(([0.0, 0.0], *(step for _, step in steps))))


def _steps(when: Floats, step: Floats) -> Curve:
    """A running sum at every time, however many there are."""
    time_s, where = np.unique(when, return_inverse=True)
    return Curve(time_s, np.cumsum(np.bincount(where, step, minlength=time_s.size).astype(np.float64)))


def _speed_axis(curves: Curves) -> Axis:
    """From a tenth below the slowest to the fastest."""
    low = min(float(curve.y.min(initial=1.0)) for _, _, curve in curves)
    high = max(float(curve.y.max(initial=1.0)) for _, _, curve in curves)
    return nice_axis(max(1.0, high), max(0.0, np.floor(low * 10 - 1e-9) / 10))
