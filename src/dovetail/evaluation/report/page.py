"""The page: records in, one HTML file out, which holds its own style, script and data and loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.evaluation.comparison import Comparison, compare
from dovetail.evaluation.metrics_dag import METRICS
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.bars import cut, deflate, merge_tasks, pack, share_out, tick_for
from dovetail.evaluation.report.charts import make_charts
from dovetail.evaluation.report.svg import BOTTOM, LEFT, RIGHT, TOP
from dovetail.evaluation.report.table import shown_metrics, table_html
from dovetail.evaluation.report.text import bounds, facts, number, seed_list, signed_pct
from dovetail.records.dag import DagRun
from dovetail.records.directory import DagRecords
from dovetail.records.files import replacing

_SCRIPTS = ("report.js", "charts.js", "gantt_data.js", "gantt_draw.js", "gantt.js")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def write_page(records: DagRecords, path: Path) -> None:
    """Write the report; the file appears whole or not at all."""
    text = render_page(records)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def render_page(records: DagRecords) -> str:
    """The report as text.  The same records always give the same page."""
    comparison = compare(records)
    shown = recorded_runs(records, comparison)
    data, charts = _data_and_charts(records, shown)
    slots = {
        "title": escape(f"{records.workload.get('name', 'dag')} · {len(comparison.rows)} schedulers"),
        "heading": _heading(records, comparison),
        "verdict": _verdict(comparison),
        "facts": _facts(records),
        "command": escape(str(records.manifest.get("command") or "")),
        "table": table_html(comparison),
        "seeds": _seeds(records),
        "charts": charts,
        "legend": _legend([(place, label) for place, label, _ in shown]),
        "gantt_class": "" if shown else "empty",
        "recorded": escape(_recorded(shown)),
        "meanings": _meanings(comparison),
        "version": escape(str(records.manifest.get("dovetail", ""))),
        "palette": _palette_css(max(len(comparison.rows), 1)),
        "style": _asset("report.css"),
        "script": "".join(map(_asset, _SCRIPTS)),
        # `<` is the only character by which text inside a script element could end it.
        "data": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], _asset("report.html"))


def recorded_runs(records: DagRecords, comparison: Comparison) -> list[tuple[int, str, DagRun]]:
    """Runs kept in full, as (place in the table, label, run): each scheduler's run of its lowest seed."""
    found = []
    for place, row in enumerate(comparison.rows):
        own = [run for run in records.runs if run.entry == row.entry]
        if own:
            found.append((place, row.label, records.run(min(own, key=lambda run: run.seed).run)))
    return found


def _data_and_charts(records: DagRecords, shown: list[tuple[int, str, DagRun]]) -> tuple[dict[str, Any], str]:
    merged = [merge_tasks(run) for _, _, run in shown]
    limits = share_out([len(bars) for bars in merged])
    makespan_s = max((run.end_s for _, _, run in shown), default=0.0)
    tick_s = tick_for(makespan_s)
    workloads: dict[str, int] = {}
    runs = []
    for (place, label, run), all_bars, limit in zip(shown, merged, limits, strict=True):
        bars, until_s = cut(all_bars, limit)
        jobs = deflate(json.dumps(_jobs(run), separators=(",", ":")).encode())
        finish_s = np.where(np.isfinite(run.jobs.finish_s), run.jobs.finish_s, -1.0)
        runs.append(
            {
                "label": label,
                "place": place,
                "seed": run.seed,
                "executors": run.executors,
                "makespan_s": round(run.end_s, 3),
                "tasks": len(run.tasks),
                "bars": len(bars),
                "until_s": until_s,
                "jobs": workloads.setdefault(jobs, len(workloads)),
                "finish": deflate(np.rint(finish_s / tick_s).astype("<i4").tobytes()),
                "data": pack(bars, run.executors, tick_s),
            }
        )
    charts = make_charts(shown)
    data = {
        "tick_s": tick_s,
        "makespan_s": makespan_s,
        "moving_delay_s": float(records.options.get("moving_delay_s") or 0.0),
        "colours": palette.job_colours(),
        "runs": runs,
        "workloads": list(workloads),
        "frame": {"left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
        "charts": {chart.name: chart.data() for chart in charts},
    }
    return data, "".join(chart.html() for chart in charts)


def _jobs(run: DagRun) -> dict[str, Any]:
    """What all schedulers' runs of one job sequence share; stored once."""
    stages: list[list[str]] = [[] for _ in run.jobs.name]
    for job, name in zip(run.stages.job.tolist(), run.stages.name, strict=True):
        stages[job].append(name)
    return {
        "name": run.jobs.name,
        "dag": run.jobs.dag,
        "arrival_s": np.round(run.jobs.arrival_s, 3).tolist(),
        "stages": stages,
    }


def _heading(records: DagRecords, comparison: Comparison) -> str:
    count = len(comparison.rows)
    name = escape(str(records.workload.get("name", "a workload of dag jobs")))
    return f"{count} scheduler{'s' if count > 1 else ''} on <em>{name}</em>"


def _verdict(comparison: Comparison) -> str:
    best = comparison.rows[0]
    jct = best.metrics["avg_jct_s"]
    mean = f"{number(jct.mean)} s on average {escape(bounds(jct))}".rstrip()
    name = f"<b>{escape(best.label)}</b>"
    if len(comparison.rows) == 1:
        return f"{name} completes a job in {mean}."
    text = f"{name} completes jobs soonest: in {mean}"
    if comparison.best_heuristic is None:
        return f"{text}."
    if best.label != comparison.best_heuristic:
        than = escape(comparison.best_heuristic)
        return f"{text}, {signed_pct(best.difference_pct)} against the best heuristic, <b>{than}</b>."
    after = comparison.rows[1]
    return f"{text}. Next is <b>{escape(after.label)}</b>, {signed_pct(after.difference_pct)}."


def _seeds(records: DagRecords) -> str:
    seeds = sorted({int(seed) for seed in records.summary.seed})
    if len(seeds) == 1:
        return f"seed {seeds[0]} alone, so there are no intervals"
    return f"means over seeds {seed_list(seeds)}; brackets are 95 % intervals"


def _facts(records: DagRecords) -> str:
    """Two lists: the workload, and the cluster with its options."""
    seeds = sorted({int(seed) for seed in records.summary.seed})
    groups = (
        ("Workload", [*facts(records.workload), ("seeds", seed_list(seeds))]),
        ("Cluster", facts(_in_force(records.options))),
    )
    out = []
    for title, lines in groups:
        out.append(f'<section class="facts"><h3>{title}</h3><dl>{_pairs(lines)}</dl></section>')
    return "".join(out)


def _in_force(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those of troubles that are switched off."""
    off: set[str] = set()
    if not options.get("straggler_probability"):
        off |= {"straggler_probability", "straggler_factor"}
    if not options.get("mean_time_to_failure_s"):
        off |= {"mean_time_to_failure_s", "repair_s"}
    return {name: value for name, value in options.items() if name not in off}


def _legend(shown: list[tuple[int, str]]) -> str:
    return "".join(
        f'<button type="button" class="key" aria-pressed="true" data-place="{place}">'
        f'<span class="chip s{place}"></span>{escape(label)}</button>'
        for place, label in shown
    )


def _recorded(shown: list[tuple[int, str, DagRun]]) -> str:
    seeds = sorted({run.seed for _, _, run in shown})
    jobs = max((len(run.jobs) for _, _, run in shown), default=0)
    return f"seed {', '.join(map(str, seeds))}, {jobs:,} jobs" if seeds else ""


def _meanings(comparison: Comparison) -> str:
    return _pairs([(METRICS[name].title, METRICS[name].meaning) for name in shown_metrics(comparison)])


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


def _asset(name: str) -> str:
    return files("dovetail.evaluation.report").joinpath("assets", name).read_text(encoding="utf-8")
