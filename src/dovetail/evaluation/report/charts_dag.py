"""The two line charts of a report of the dag family."""

from __future__ import annotations

import numpy as np

from dovetail.evaluation.report.charts import Chart, count_axis, jct_chart, time_axis
from dovetail.evaluation.report.curves import Curve, distribution, in_system
from dovetail.records.dag import DagRun


def make_charts(shown: list[tuple[int, str, DagRun]]) -> tuple[Chart, ...]:
    """Distribution of completion times, and jobs in the system; none without runs."""
    if not shown:
        return ()
    jct = [(place, label, jct_distribution(run)) for place, label, run in shown]
    jobs = tuple((place, label, jobs_in_system(run)) for place, label, run in shown)
    return (
        jct_chart(jct, np.concatenate([run.jobs.finish_s - run.jobs.arrival_s for _, _, run in shown])),
        Chart(
            name="jobs",
            title="Jobs in the system",
            note="arrived and not yet completed",
            x_label="time, s",
            x=time_axis(jobs),
            y=count_axis(jobs),
            curves=jobs,
        ),
    )


def jct_distribution(run: DagRun) -> Curve:
    return distribution(run.jobs.finish_s - run.jobs.arrival_s)


def jobs_in_system(run: DagRun) -> Curve:
    return in_system(run.jobs.arrival_s, run.jobs.finish_s)
