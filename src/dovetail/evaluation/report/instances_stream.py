"""The picture of a report of the stream family: a row is an operator, as high as it has instances, as strong as busy.

Plain SVG text, so it shows without any script; the script adds tabs and picks out an operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from dovetail.core.stream import Bools, Floats, Ints
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.charts_stream import Shown
from dovetail.evaluation.report.picture import Picture, asset
from dovetail.evaluation.report.svg import nice_axis
from dovetail.records.perfetto_stream import stretches
from dovetail.records.stream import HOUR_S, StreamRun, instance_words

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 1180, 150, 12, 8, 36
ROW_MOST, ROW_LEAST, HEIGHT = 34.0, 7.0, 860.0  # pixels
HEAD = 15.0  # of a job
MAX_ROWS = 120  # operators drawn
MAX_COLUMNS = 504  # of time: more cannot be told apart
MAX_TITLES = 4_000  # of one run
SHADES = 8
FAINTEST = 0.12  # opacity of instances that are never busy


@dataclass(frozen=True, eq=False)
class Columns:
    """Intervals put together, so that no more are drawn than can be told apart."""

    edges_s: Floats  # (C + 1,)
    parallelism: Floats  # (C, O) mean
    busy: Floats  # (C, O) mean
    late: Bools  # (C, J) in at least one of the intervals
    rescaled: Bools  # (C, J) the same

    @classmethod
    def of(cls, run: StreamRun) -> Columns:
        count = run.num_intervals
        first = np.unique(np.linspace(0, count, min(count, MAX_COLUMNS), endpoint=False).astype(np.int64))
        size = np.diff(np.append(first, count))[:, None]
        late = run.of_jobs("latency_s") > run.jobs.slo_s
        return cls(
            edges_s=np.append(run.interval_start_s[first], run.end_s),
            parallelism=np.add.reduceat(run.parallelism.astype(np.float64), first) / size,
            busy=np.add.reduceat(run.of_operators("busy"), first) / size,
            late=np.logical_or.reduceat(late, first),
            rescaled=np.logical_or.reduceat(run.of_jobs("rescaled"), first),
        )


@dataclass(frozen=True)
class Frame:
    """Where things are drawn."""

    start_s: float
    end_s: float
    row: float  # height of an operator
    peak: int  # instances that fill it

    def x(self, time_s: Floats) -> Floats:
        across: Floats = LEFT + (time_s - self.start_s) * ((WIDTH - LEFT - RIGHT) / (self.end_s - self.start_s))
        return across


def instances(shown: Shown) -> Picture:
    """The instances of every run, on scales that all share."""
    peak = max((int(run.parallelism[:, :MAX_ROWS].max(initial=1)) for _, _, run in shown), default=1)
    sheets = []
    for place, label, run in shown:
        svg, note = _svg(run, peak)
        words = f'<p class="note">{escape(note)}</p>' if note else ""
        sheets.append(
            f'<div class="sheet" data-label="{escape(label)}" data-place="{place}">'
            f"<h4>{escape(label)}, seed {run.seed}</h4>{words}{svg}</div>"
        )
    html = asset("instances.html").replace("[[sheets]]", "".join(sheets)).replace("[[peak]]", instance_words(peak))
    return Picture(html, ("allocation.js",))


def shade(busy: Floats) -> Ints:
    """How strong instances are drawn, 0 .. SHADES - 1, by how busy they are."""
    return np.clip((busy * SHADES).astype(np.int64), 0, SHADES - 1)


def opacity(level: int) -> float:
    return FAINTEST + (1 - FAINTEST) * level / (SHADES - 1)


def _svg(run: StreamRun, peak: int) -> tuple[str, str]:
    drawn = min(len(run.operators), MAX_ROWS)
    jobs = np.unique(run.operators.job[:drawn])
    row = min(ROW_MOST, max(ROW_LEAST, HEIGHT / drawn))
    frame = Frame(float(run.interval_start_s[0]), run.end_s, row, peak)
    bottom = TOP + HEAD * jobs.size + row * drawn
    columns, colours = Columns.of(run), palette.job_colours()
    out = [
        f'<svg class="allocation instances" viewBox="0 0 {WIDTH} {bottom + BOTTOM:.0f}" role="img" '
        'aria-label="Instances by operator and time">'
    ]
    out += _ground(frame, bottom)
    y, titles = float(TOP), 0
    for job in jobs.tolist():
        out += _head(run, job, columns, frame, y)
        y += HEAD
        for operator in run.operators_of(job).tolist():
            if operator >= drawn:
                break
            out += _operator(run, operator, columns, frame, y, colours[operator % len(colours)], titles)
            titles += len(stretches(run.parallelism[:, operator]))
            y += row
    out.append("</svg>")
    left = len(run.operators) - drawn
    return "".join(out), f"the first {drawn} of {len(run.operators):,} operators are drawn" if left else ""


def _ground(frame: Frame, bottom: float) -> Iterator[str]:
    """The time axis."""
    hours = nice_axis(frame.end_s / HOUR_S, frame.start_s / HOUR_S, wanted=12)
    for tick, x in zip(hours.ticks, frame.x(np.array(hours.ticks) * HOUR_S).tolist(), strict=True):
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom + 4:.1f}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{tick:g}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="label" x="{middle}" y="{bottom + 31:.1f}" text-anchor="middle">time, h</text>'


def _head(run: StreamRun, job: int, columns: Columns, frame: Frame, y: float) -> Iterator[str]:
    """The job's name, when it was late, and when it was rescaled."""
    x = frame.x(columns.edges_s)
    name = escape(_short(run.job_names[job]))
    yield f'<text class="name" x="{LEFT - 7}" y="{y + 11:.1f}" text-anchor="end">{name}</text>'
    late = [one for one in stretches(columns.late[:, job]) if one.value]
    path = "".join(f"M{x[a]:.1f} {y + 2:.1f}H{x[b + 1]:.1f}v10H{x[a]:.1f}z" for a, b, _ in late)
    if path:
        yield f'<path class="late" d="{path}"><title>{name}: latency above its SLO</title></path>'
    marks = "".join(f"M{x[at]:.1f} {y + 2:.1f}v10" for at in np.flatnonzero(columns.rescaled[:, job]).tolist())
    if marks:
        yield f'<path class="rescale" d="{marks}"><title>{name}: rescaled</title></path>'


def _operator(
    run: StreamRun, operator: int, columns: Columns, frame: Frame, y: float, colour: str, titles: int
) -> Iterator[str]:
    """A group with a path for each shade, and what there is to read."""
    name, row = run.operators.name[operator], frame.row
    x, low = frame.x(columns.edges_s), y + row - 1
    high = low - (row - 2) * columns.parallelism[:, operator] / frame.peak
    level = shade(columns.busy[:, operator])
    yield f'<g class="job" data-job="{operator}" fill="{colour}"><title>{escape(_about(run, operator))}</title>'
    yield f'<rect class="hit" x="{LEFT}" y="{y:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{row:.1f}"/>'
    for one in range(SHADES):
        at = np.flatnonzero(level == one).tolist()
        path = "".join(f"M{x[c]:.1f} {low:.1f}V{high[c]:.1f}H{x[c + 1]:.1f}V{low:.1f}z" for c in at)
        if path:
            yield f'<path fill-opacity="{opacity(one):.2f}" d="{path}"/>'
    yield f'<line class="foot" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{low:.1f}" y2="{low:.1f}"/>'
    if row >= 9 or operator == int(run.operators_of(int(run.operators.job[operator]))[0]):
        yield f'<text x="{LEFT - 7}" y="{y + row / 2 + 4:.1f}" text-anchor="end">{escape(_short(name))}</text>'
    for stretch in stretches(run.parallelism[:, operator])[: max(0, MAX_TITLES - titles)]:
        start_s = float(run.interval_start_s[stretch.first])
        end_s = float(run.interval_start_s[stretch.last]) + run.interval_s
        a, b = frame.x(np.array([start_s, end_s])).tolist()
        busy = float(run.of_operators("busy")[stretch.first : stretch.last + 1, operator].mean())
        told = f"{name}, {start_s / HOUR_S:g} to {end_s / HOUR_S:g} h: {instance_words(stretch.value)}, {busy:.0%} busy"
        yield (
            f'<rect class="hit" x="{a:.1f}" y="{y:.1f}" width="{max(b - a, 0.5):.1f}" height="{row:.1f}">'
            f"<title>{escape(told)}</title></rect>"
        )
    yield "</g>"


def _about(run: StreamRun, operator: int) -> str:
    """An operator in a line."""
    own, busy = run.parallelism[:, operator], run.of_operators("busy")[:, operator]
    changes = int((run.decisions.operator == operator).sum())
    return (
        f"operator {operator} ({run.operators.name[operator]} of {run.job_names[int(run.operators.job[operator])]}): "
        f"{own.mean():.3g} instances on average, {own.min()} to {own.max()}; {busy.mean():.0%} busy; "
        f"changed {changes:,} times"
    )


def _short(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:21]}…"
