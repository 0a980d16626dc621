"""Step charts as SVG text: no script is needed to see them, and the page's style sheet colours them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Floats
from dovetail.evaluation.report.curves import Curve

WIDTH, HEIGHT = 640, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 42
WIDE = 2e4  # ratio from which on a logarithmic axis has marks at powers of ten only; charts.js has it, too


class Axis(NamedTuple):
    """From `low` to `high`, with marks at `ticks`; even steps, or even ratios if `log`."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def share(self, values: Floats) -> Floats:
        """Where values lie between the ends, 0 to 1; what lies outside is moved to the nearer end."""
        inside = np.clip(values, self.low, self.high)
        if self.log:
            ratio: Floats = np.log(inside / self.low) / math.log(self.high / self.low)
            return ratio
        return (inside - self.low) / (self.high - self.low)


def nice_axis(high: float, low: float = 0.0, wanted: int = 6) -> Axis:
    """Ticks at 1, 2 or 5 times a power of ten; the axis ends where the data does, not at the next tick."""
    span = high - low
    if not span > 0:
        return Axis(low, low + 1.0, (low, low + 1.0))
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(low, high, tuple(tick * step for tick in range(first, last + 1)))


def log_axis(low: float, high: float) -> Axis:
    """The same for even ratios, from above 0."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < WIDE else (1,)
    ticks = (factor * 10.0**power for power in powers for factor in factors)
    return Axis(low, high, tuple(tick for tick in ticks if low <= tick <= high), log=True)


def step_chart(
    name: str,
    curves: Sequence[tuple[int, str, Curve]],
    x: Axis,
    y: Axis,
    *,
    x_label: str,
    y_label: str,
    percent: bool = False,
) -> str:
    """A chart of step curves, each given as (place in the table, label, curve); its class is `s<place>`."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [
        f'<svg class="chart" id="{name}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(y_label)} by {escape(x_label)}"><g class="ticks">'
    ]
    for tick, share in zip(y.ticks, y.share(np.array(y.ticks)).tolist(), strict=True):
        at = bottom + share * (TOP - bottom)
        text = f"{100 * tick:.0f} %" if percent else f"{tick:g}"
        out.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        out.append(f'<text x="{LEFT - 7}" y="{at + 3.5:.1f}" text-anchor="end">{text}</text>')
    for tick, share in zip(x.ticks, x.share(np.array(x.ticks)).tolist(), strict=True):
        at = LEFT + share * (right - LEFT)
        out.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        out.append(f'<text x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{tick:g}</text>')
    out.append(f'</g><line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    at = (LEFT + right) / 2
    label = x_label + (" (logarithmic)" if x.log else "")
    out.append(f'<text class="label" x="{at}" y="{HEIGHT - 6}" text-anchor="middle">{escape(label)}</text>')
    out.append('<g class="curves">')
    for place, title, curve in reversed(curves):  # best last, so that it lies on top
        path = _step_path(curve, x, y, right, bottom)
        out.append(f'<path class="curve s{place}" d="{path}"><title>{escape(title)}</title></path>')
    out.append(f'</g><line class="cross" x1="0" x2="0" y1="{TOP}" y2="{bottom}" visibility="hidden"/></svg>')
    return "".join(out)


def _step_path(curve: Curve, x: Axis, y: Axis, right: float, bottom: float) -> str:
    if not curve.x.size:
        return ""
    across = LEFT + x.share(curve.x) * (right - LEFT)
    up = bottom + y.share(curve.y) * (TOP - bottom)
    parts = [f"M{across[0]:.1f} {up[0]:.1f}"]
    parts += [f"H{to:.1f}V{height:.1f}" for to, height in zip(across[1:], up[1:], strict=True)]
    return "".join(parts)
