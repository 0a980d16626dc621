"""The two line charts of the report, with what the page's script needs to read values off them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from dovetail.evaluation.report.curves import Curve, jct_distribution, jobs_in_system
from dovetail.evaluation.report.svg import Axis, log_axis, nice_axis, step_chart
from dovetail.records.dag import DagRun

STRETCH = 20  # longest over median completion time from which on the axis is logarithmic


@dataclass(frozen=True, eq=False)
class Chart:
    """Step curves of several schedulers on common axes; a curve has its place in the table and a label."""

    name: str
    title: str
    note: str
    x_label: str
    x: Axis
    y: Axis
    curves: tuple[tuple[int, str, Curve], ...]
    percent: bool = False

    def html(self) -> str:
        svg = step_chart(
            self.name,
            self.curves,
            self.x,
            self.y,
            x_label=self.x_label,
            y_label=self.title,
            percent=self.percent,
        )
        return (
            f'<figure class="card"><figcaption><h3>{escape(self.title)}</h3><p>{escape(self.note)}</p>'
            f'</figcaption>{svg}<output class="tip" hidden></output></figure>'
        )

    def data(self) -> dict[str, Any]:
        return {
            "x": [self.x.low, self.x.high],
            "y": [self.y.low, self.y.high],
            "log": self.x.log,
            "percent": self.percent,
            "curves": [
                {
                    "place": place,
                    "label": label,
                    "x": np.round(curve.x, 3).tolist(),
                    "y": np.round(curve.y, 4).tolist(),
                }
                for place, label, curve in self.curves
            ],
        }


def make_charts(shown: list[tuple[int, str, DagRun]]) -> tuple[Chart, ...]:
    """Distribution of completion times, and jobs in the system; none without runs."""
    if not shown:
        return ()
    jct = tuple((place, label, jct_distribution(run)) for place, label, run in shown)
    jobs = tuple((place, label, jobs_in_system(run)) for place, label, run in shown)
    count = nice_axis(1.06 * max(float(curve.y.max(initial=1.0)) for _, _, curve in jobs))
    whole = Axis(count.low, count.high, tuple(tick for tick in count.ticks if tick == int(tick)))
    return (
        Chart(
            name="cdf",
            title="How long jobs take",
            note="share of the jobs completed within a given time",
            x_label="completion time, s",
            x=_jct_axis([run for _, _, run in shown]),
            y=Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
            curves=jct,
            percent=True,
        ),
        Chart(
            name="jobs",
            title="Jobs in the system",
            note="arrived and not yet completed",
            x_label="time, s",
            x=nice_axis(1.02 * max(float(curve.x.max(initial=0.0)) for _, _, curve in jobs)),
            y=whole,
            curves=jobs,
        ),
    )


def _jct_axis(runs: list[DagRun]) -> Axis:
    """Logarithmic where one scheduler's times would press all others against the left edge."""
    all_s = np.concatenate([run.jobs.finish_s - run.jobs.arrival_s for run in runs])
    all_s = all_s[np.isfinite(all_s)]
    longest_s = 1.02 * float(all_s.max(initial=0.0))
    if all_s.size == 0 or longest_s < STRETCH * float(np.median(all_s)):
        return nice_axis(longest_s)
    return log_axis(max(float(all_s.min()), longest_s * 1e-4) * 0.95, longest_s)
