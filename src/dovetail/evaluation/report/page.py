"""The page: records in, one HTML file out, which holds its own style, script and data and loads nothing."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

from dovetail.evaluation.comparison import Comparison, compare
from dovetail.evaluation.family import family_named
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.picture import Shown, asset
from dovetail.evaluation.report.svg import BOTTOM, LEFT, RIGHT, TOP
from dovetail.evaluation.report.table import shown_metrics, table_html
from dovetail.evaluation.report.text import bounds, facts, number, seed_list, signed_difference
from dovetail.records.directory import Records
from dovetail.records.files import replacing

_SCRIPTS = ("report.js", "charts.js")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def write_page(records: Records, path: Path) -> None:
    """Write the report; the file appears whole or not at all."""
    text = render_page(records)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def render_page(records: Records) -> str:
    """The report as text.  The same records always give the same page."""
    comparison, family = compare(records), family_named(records.family)
    shown = recorded_runs(records, comparison)
    charts, picture = family.charts(shown), family.picture(records, shown)
    data = {
        **picture.data,
        "frame": {"left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
        "charts": {chart.name: chart.data() for chart in charts},
    }
    slots = {
        "title": escape(f"{records.workload.get('name', records.family)} · {len(comparison.rows)} schedulers"),
        "heading": _heading(records, comparison),
        "verdict": _verdict(comparison),
        "facts": _facts(records),
        "command": escape(str(records.manifest.get("command") or "")),
        "table": table_html(comparison),
        "seeds": _seeds(records),
        "charts": "".join(chart.html() for chart in charts),
        "picture": picture.html if shown else "",
        "legend": _legend([(place, label) for place, label, _ in shown]),
        "runs_class": "" if shown else "empty",
        "recorded": escape(_recorded(shown)),
        "meanings": _meanings(comparison),
        "version": escape(str(records.manifest.get("dovetail", ""))),
        "palette": _palette_css(max(len(comparison.rows), 1)),
        "style": asset("report.css"),
        "script": "".join(map(asset, (*_SCRIPTS, *(picture.scripts if shown else ())))),
        # `<` is the only character by which text inside a script element could end it.
        "data": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], asset("report.html"))


def recorded_runs(records: Records, comparison: Comparison) -> list[Shown]:
    """Runs kept in full, as (place in the table, label, run): each scheduler's run of its lowest seed."""
    found = []
    for place, row in enumerate(comparison.rows):
        own = [run for run in records.runs if run.entry == row.entry]
        if own:
            found.append((place, row.label, records.run(min(own, key=lambda run: run.seed).run)))
    return found


def _heading(records: Records, comparison: Comparison) -> str:
    count = len(comparison.rows)
    name = escape(str(records.workload.get("name", f"a workload of {records.family} jobs")))
    return f"{count} scheduler{'s' if count > 1 else ''} on <em>{name}</em>"


def _verdict(comparison: Comparison) -> str:
    best, metric = comparison.rows[0], comparison.metric
    alone, first = family_named(comparison.family).verdict
    interval = best.metrics[comparison.yardstick]
    unit = f" {metric.unit}" if metric.unit else ""
    mean = f"{number(interval.mean, metric)}{unit} on average {escape(bounds(interval, metric))}".rstrip()
    name = f"<b>{escape(best.label)}</b>"
    if len(comparison.rows) == 1:
        return f"{name} {alone.format(mean=mean)}."
    text = f"{name} {first.format(mean=mean)}"
    if comparison.best_heuristic is None:
        return f"{text}."
    if best.label != comparison.best_heuristic:
        than = escape(comparison.best_heuristic)
        by = signed_difference(comparison.difference(best), metric)
        return f"{text}, {by} against the best heuristic, <b>{than}</b>."
    after = comparison.rows[1]
    by = signed_difference(comparison.difference(after), metric)
    return f"{text}. Next is <b>{escape(after.label)}</b>, {by}."


def _seeds(records: Records) -> str:
    seeds = sorted({int(seed) for seed in records.summary.seed})
    if len(seeds) == 1:
        return f"seed {seeds[0]} alone, so there are no intervals"
    return f"means over seeds {seed_list(seeds)}; brackets are 95 % intervals"


def _facts(records: Records) -> str:
    """Two lists: the workload, and the cluster with its options."""
    seeds = sorted({int(seed) for seed in records.summary.seed})
    groups = (
        ("Workload", [*facts(records.workload), ("seeds", seed_list(seeds))]),
        ("Cluster", facts(family_named(records.family).options_in_force(records.options))),
    )
    out = []
    for title, lines in groups:
        out.append(f'<section class="facts"><h3>{title}</h3><dl>{_pairs(lines)}</dl></section>')
    return "".join(out)


def _legend(shown: list[tuple[int, str]]) -> str:
    return "".join(
        f'<button type="button" class="key" aria-pressed="true" data-place="{place}">'
        f'<span class="chip s{place}"></span>{escape(label)}</button>'
        for place, label in shown
    )


def _recorded(shown: list[Shown]) -> str:
    seeds = sorted({run.seed for _, _, run in shown})
    jobs = max((len(run.job_names) for _, _, run in shown), default=0)
    return f"seed {', '.join(map(str, seeds))}, {jobs:,} job{'' if jobs == 1 else 's'}" if seeds else ""


def _meanings(comparison: Comparison) -> str:
    metrics = family_named(comparison.family).metrics
    return _pairs([(metrics[name].title, metrics[name].meaning) for name in shown_metrics(comparison)])


def _pairs(lines: list[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in lines)


def _palette_css(count: int) -> str:
    """A colour and dash pattern for each place of the table, for light and for dark grounds."""
    places = [palette.series(place) for place in range(count)]
    dashes = "".join(f".s{i}{{--dash:{dash or 'none'}}}" for i, (_, _, dash) in enumerate(places))
    light = "".join(f".s{i}{{--c:{colour}}}" for i, (colour, _, _) in enumerate(places))
    dark = "".join(f":root[data-theme=dark] .s{i}{{--c:{colour}}}" for i, (_, colour, _) in enumerate(places))
    auto = "".join(f":root:not([data-theme=light]) .s{i}{{--c:{colour}}}" for i, (_, colour, _) in enumerate(places))
    return f"{dashes}{light}{dark}@media (prefers-color-scheme:dark){{{auto}}}"
