"""The line charts of a report of the elastic family: utility, completion times, and the use of the cluster."""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import WORKER
from dovetail.evaluation.report.charts import Chart, count_axis, jct_chart
from dovetail.evaluation.report.curves import Curve, distribution, running_sum, thinned
from dovetail.evaluation.report.svg import Axis, nice_axis
from dovetail.records.elastic import ElasticRun

Curves = tuple[tuple[int, str, Curve], ...]


def make_charts(shown: list[tuple[int, str, ElasticRun]]) -> tuple[Chart, ...]:
    """None without runs."""
    if not shown:
        return ()
    slots = max(run.slots for _, _, run in shown)
    slot_s = shown[0][2].slot_s
    label = f"slot ({slot_s:g} s each)"
    time = nice_axis(float(slots))
    gained: Curves = tuple((place, name, utility_gained(run)) for place, name, run in shown)
    taken = [run.completion_s / run.slot_s for _, _, run in shown]
    jct = [(place, name, distribution(one)) for (place, name, _), one in zip(shown, taken, strict=True)]
    busy: Curves = tuple((place, name, dominant_use(run)) for place, name, run in shown)
    workers: Curves = tuple((place, name, workers_standing(run)) for place, name, run in shown)
    in_slot = ("in slot", "")
    return (
        Chart(
            "utility",
            "Utility gained",
            "sum over the jobs completed so far",
            label,
            time,
            count_axis(gained),
            gained,
            read=("by the end of slot", ""),
        ),
        jct_chart(jct, np.concatenate(taken), x_label=f"completion time, slots of {slot_s:g} s", unit="slots"),
        Chart(
            "use",
            "Cluster in use",
            "the resource of worker hosts that is taken most, against what there is",
            label,
            time,
            Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
            busy,
            percent=True,
            read=in_slot,
        ),
        Chart("workers", "Workers", "of all jobs together", label, time, count_axis(workers), workers, read=in_slot),
    )


def utility_gained(run: ElasticRun) -> Curve:
    """A job's utility counts from the slot it completed in."""
    done = run.jobs.finish >= 0
    when = np.concatenate(([0.0], run.jobs.finish[done].astype(np.float64), [float(run.slots)]))
    return running_sum(when, np.concatenate(([0.0], run.jobs.utility[done], [0.0])))


def dominant_use(run: ElasticRun) -> Curve:
    """In every slot the share of the resource that is taken most."""
    return _by_slot(run.in_use.max(axis=1), run.slots)


def workers_standing(run: ElasticRun) -> Curve:
    return _by_slot(run.standing(WORKER).sum(axis=0).astype(np.float64), run.slots)


def _by_slot(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], slots: int) -> Curve:
    """Where the value changes, and the end of the last slot."""
    at = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    x = np.concatenate((at, [slots])).astype(np.float64)
    return thinned(Curve(x, np.concatenate((values[at], values[-1:]))))
