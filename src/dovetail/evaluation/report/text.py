"""Numbers and facts as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dovetail.evaluation.metric import Metric
from dovetail.evaluation.statistics import Interval


def number(value: float, metric: Metric | None = None) -> str:
    """A metric's value without its unit; shares as percent."""
    if not math.isfinite(value):
        return "–"
    form = "number" if metric is None else metric.form
    if form == "percent":
        return f"{100 * value:.1f} %"
    if form == "signed":
        return f"{value:.3f}"
    if form == "ratio":
        return f"{value:.2f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def bounds(interval: Interval, metric: Metric | None = None) -> str:
    """`[low, high]`, or nothing where a single seed allows no interval."""
    return f"[{number(interval.low, metric)}, {number(interval.high, metric)}]" if interval.known else ""


def signed_pct(interval: Interval) -> str:
    """`+12.3 % [+9.8, +15.1]`"""
    if not math.isfinite(interval.mean):
        return "–"
    text = f"{interval.mean:+.1f} %"
    return f"{text} [{interval.low:+.1f}, {interval.high:+.1f}]" if interval.known else text


def signed_difference(interval: Interval, metric: Metric) -> str:
    """In percent; of a metric with values on both sides of 0, in its own unit: `+0.123 [+0.098, +0.151]`."""
    if not metric.signed or not math.isfinite(interval.mean):
        return signed_pct(interval)
    text = f"{interval.mean:+.3f}"
    return f"{text} [{interval.low:+.3f}, {interval.high:+.3f}]" if interval.known else text


def duration(seconds: float) -> str:
    """A small duration with the unit that suits it."""
    if not math.isfinite(seconds):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:  # what would be rounded to 1000 of the next unit
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def facts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Nested facts as (name, value) lines, the name first; what is off, empty or absent is left out."""
    lines = [(name, text) for name, value in _flat(content, "") if (text := _shown(name, value))]
    lines.sort(key=lambda line: line[0] != "name")
    return [(name.removesuffix(" s"), text) for name, text in lines]


def _flat(content: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}".replace("_", " "), value


def _shown(name: str, value: Any) -> str:
    if value is None or value is False or value == [] or value == "":
        return ""
    if value is True:
        return "yes"
    if isinstance(value, list):
        return ", ".join(_item(item) for item in value)
    unit = " s" if name.endswith(" s") and isinstance(value, int | float) else ""
    return f"{value:,}{unit}" if isinstance(value, int) else f"{value}{unit}"


def _item(item: Any) -> str:
    if isinstance(item, Mapping):
        return " ".join(f"{key} {value}" for key, value in item.items())
    return str(item)


def seed_list(seeds: list[int]) -> str:
    """`0 – 19 (20)`, or the seeds one by one where they are not consecutive."""
    if len(seeds) == 1:
        return str(seeds[0])
    if seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} – {seeds[-1]} ({len(seeds)})"
    shown = ", ".join(map(str, seeds[:12]))
    return f"{shown}{', …' if len(seeds) > 12 else ''} ({len(seeds)})"
