"""Line charts of the report, with what the page's script needs to read values off them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from dovetail.core.dag import Floats
from dovetail.evaluation.report.curves import Curve
from dovetail.evaluation.report.svg import Axis, log_axis, nice_axis, step_chart

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
    read: tuple[str, str] = ("at", " s")  # words around the place of which values are read off

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
            "read": list(self.read),
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


def jct_chart(
    curves: Sequence[tuple[int, str, Curve]], every: Floats, *, x_label: str = "completion time, s", unit: str = "s"
) -> Chart:
    """The distribution of completion times, of which `every` are all that are drawn."""
    return Chart(
        name="cdf",
        title="How long jobs take",
        note="share of the jobs completed within a given time",
        x_label=x_label,
        x=_jct_axis(every),
        y=Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
        curves=tuple(curves),
        percent=True,
        read=("within", f" {unit}"),
    )


def count_axis(curves: Sequence[tuple[int, str, Curve]]) -> Axis:
    """From 0 to the highest of the curves, with marks at whole numbers."""
    count = nice_axis(1.06 * max(float(curve.y.max(initial=1.0)) for _, _, curve in curves))
    return Axis(count.low, count.high, tuple(tick for tick in count.ticks if tick == int(tick)))


def time_axis(curves: Sequence[tuple[int, str, Curve]]) -> Axis:
    """From 0 to the last change of the curves."""
    return nice_axis(1.02 * max(float(curve.x.max(initial=0.0)) for _, _, curve in curves))


def _jct_axis(all_s: Floats) -> Axis:
    """Logarithmic where one scheduler's times would press all others against the left edge."""
    all_s = all_s[np.isfinite(all_s)]
    longest_s = 1.02 * float(all_s.max(initial=0.0))
    if all_s.size == 0 or longest_s < STRETCH * float(np.median(all_s)):
        return nice_axis(longest_s)
    return log_axis(max(float(all_s.min()), longest_s * 1e-4) * 0.95, longest_s)
