"""The picture of a report of the gpu family: a lane is a GPU, a bar a job on it, the paler the slower it ran there.

Plain SVG text, so it shows without any script; the script adds tabs and picks out a job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from dovetail.core.gpu import Bools, Floats, Ints
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.charts_gpu import Clock, Shown, clock_for
from dovetail.evaluation.report.picture import Picture, asset
from dovetail.evaluation.report.svg import nice_axis
from dovetail.records.gpu import END_TEXT, GpuRun
from dovetail.records.gpu_lanes import GpuBars, bars_of, offsets

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 1180, 92, 12, 8, 36
LANE_MOST, LANE_LEAST, HEIGHT = 14.0, 2.0, 760.0  # pixels
MAX_LANES = 560  # drawn of a cluster
MAX_BARS = 8_000  # of one run
MAX_BARS_PAGE = 60_000
FAINTEST, SLOWEST = 0.35, 0.5  # opacity of a job that runs at this part of its speed alone, or slower


@dataclass(frozen=True, eq=False)
class Lanes:
    """Which machines are drawn, and where: GPUs first, then a lane for jobs without any where a machine has such."""

    machines: int
    first: Ints  # (M,) lane of the first device
    count: Ints  # (M,)
    processors: Bools  # (M,) the last lane is for jobs without GPUs

    @classmethod
    def of(cls, run: GpuRun, bars: GpuBars) -> Lanes:
        processors = np.zeros(len(run.machines), np.bool_)
        processors[bars.machine[bars.device < 0]] = True
        count = run.machines.gpus + processors
        drawn = max(1, int(np.searchsorted(np.cumsum(count), MAX_LANES, side="right")))
        drawn = min(drawn, len(count))
        return cls(drawn, np.cumsum(count) - count, count, processors)

    @property
    def total(self) -> int:
        return int(self.count[: self.machines].sum())

    def lane(self, machine: Ints, device: Ints) -> Ints:
        """(B,)"""
        return self.first[machine] + np.where(device < 0, self.count[machine] - 1, device)


def placement(shown: Shown) -> Picture:
    """The placement of every run, on a time axis that all share."""
    colours, clock = palette.job_colours(), clock_for(shown)
    end_s = max((run.end_s for _, _, run in shown), default=0.0)
    most = min(MAX_BARS, MAX_BARS_PAGE // max(len(shown), 1))
    sheets = []
    for place, label, run in shown:
        svg, note = _svg(run, end_s, clock, colours, most)
        words = f'<p class="note">{escape(note)}</p>' if note else ""
        sheets.append(
            f'<div class="sheet" data-label="{escape(label)}" data-place="{place}">'
            f"<h4>{escape(label)}, seed {run.seed}</h4>{words}{svg}</div>"
        )
    return Picture(asset("placement.html").replace("[[sheets]]", "".join(sheets)), ("allocation.js",))


def shade(run: GpuRun) -> Floats:
    """(S,) how strong a segment is drawn, by its speed against alone there."""
    relative = np.where(np.isfinite(run.mean_speed), run.mean_speed, run.segments.alone) / run.segments.alone
    return FAINTEST + (1 - FAINTEST) * np.clip((relative - SLOWEST) / (1 - SLOWEST), 0.0, 1.0)


def _svg(run: GpuRun, end_s: float, clock: Clock, colours: list[str], most: int) -> tuple[str, str]:
    bars = bars_of(run)
    lanes = Lanes.of(run, bars)
    tall = min(LANE_MOST, max(LANE_LEAST, HEIGHT / max(lanes.total, 1)))
    across = (WIDTH - LEFT - RIGHT) / max(end_s, 1e-9)
    high = TOP + tall * lanes.total + BOTTOM
    inside = bars.machine < lanes.machines
    kept = np.flatnonzero(inside)
    if kept.size > most:
        until_s = float(np.partition(bars.start_s[kept], most)[most])
        kept = kept[bars.start_s[kept] < until_s]
    out = [
        f'<svg class="allocation placement" viewBox="0 0 {WIDTH} {high:.0f}" role="img" '
        'aria-label="Jobs by GPU and time">'
    ]
    out += _ground(run, lanes, tall, across, end_s, clock)
    out += _jobs(run, bars, kept, lanes, tall, across, colours, clock)
    out += _outages(run, lanes, tall, across)
    out.append("</svg>")
    notes = []
    if lanes.machines < len(run.machines):
        notes.append(f"the first {lanes.machines} of {len(run.machines):,} machines are drawn")
    if kept.size < int(inside.sum()):
        notes.append(f"{int(inside.sum()) - kept.size:,} bars that begin later are left out")
    return "".join(out), "; ".join(notes)


def _ground(run: GpuRun, lanes: Lanes, tall: float, across: float, end_s: float, clock: Clock) -> Iterator[str]:
    """Free GPUs, the time axis, and the names of the machines."""
    bottom, right = TOP + tall * lanes.total, LEFT + end_s * across
    yield f'<rect class="free" x="{LEFT}" y="{TOP}" width="{right - LEFT:.1f}" height="{bottom - TOP:.1f}"/>'
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024) if step * _least(lanes) * tall >= 11)
    named = step == 1 or len(set(run.machines.type)) == 1  # the type of every n-th would be taken for that of all
    for machine in range(lanes.machines):
        y = TOP + tall * int(lanes.first[machine])
        deep = tall * int(lanes.count[machine])
        if lanes.processors[machine]:
            low = y + deep - tall
            yield f'<rect class="processors" x="{LEFT}" y="{low:.1f}" width="{right - LEFT:.1f}" height="{tall:.1f}"/>'
        new = machine > 0 and run.machines.rack[machine] != run.machines.rack[machine - 1]
        name = "rack" if new else "machine"
        yield f'<line class="{name}" x1="{LEFT}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        if machine % step == 0:
            label = f"{run.machines.name[machine]}{f' · {run.machines.type[machine]}' if named else ''}"
            middle = y + min(deep / 2, 8.0) + 3.5
            yield f'<text x="{LEFT - 7}" y="{middle:.1f}" text-anchor="end">{escape(_short(label))}</text>'
    for tick in nice_axis(end_s / clock.seconds, wanted=12).ticks:
        x = LEFT + tick * clock.seconds * across
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom:.1f}" y2="{bottom + 5:.1f}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 17:.1f}" text-anchor="middle">{tick:g}</text>'
    yield (
        f'<text class="label" x="{(LEFT + WIDTH) / 2}" y="{bottom + 32:.1f}" text-anchor="middle">'
        f"time, {clock.unit}</text>"
    )


def _jobs(
    run: GpuRun, bars: GpuBars, kept: Ints, lanes: Lanes, tall: float, across: float, colours: list[str], clock: Clock
) -> Iterator[str]:
    """A group for each job, a path for each time it ran."""
    gap = 0.8 if tall >= 5 else 0.0
    offset, strength = offsets(bars)[kept], shade(run)
    x = LEFT + bars.start_s[kept] * across
    wide = np.maximum((bars.end_s - bars.start_s)[kept] * across, 0.6)
    deep = np.maximum(bars.share[kept] * (tall - gap), 0.7)
    y = TOP + lanes.lane(bars.machine[kept], bars.device[kept]) * tall + offset * (tall - gap)
    boxes: dict[int, dict[int, list[str]]] = {}  # job -> segment -> what is drawn
    for at, own in enumerate(bars.segment[kept].tolist()):
        box = f"M{x[at]:.1f} {y[at]:.1f}h{wide[at]:.1f}v{deep[at]:.1f}h-{wide[at]:.1f}z"
        boxes.setdefault(int(run.segments.job[own]), {}).setdefault(own, []).append(box)
    for job, segments in sorted(boxes.items()):
        colour = colours[job % len(colours)]
        yield f'<g class="job" data-job="{job}" fill="{colour}"><title>{escape(_about(run, job, clock))}</title>'
        for own, path in segments.items():
            yield f'<path fill-opacity="{strength[own]:.2f}" d="{"".join(path)}">'
            yield f"<title>{escape(_told(run, own, clock))}</title></path>" if len(segments) > 1 else "</path>"
        yield "</g>"


def _outages(run: GpuRun, lanes: Lanes, tall: float, across: float) -> Iterator[str]:
    down: dict[int, float] = {}
    rows = zip(run.outages.machine.tolist(), run.outages.up.tolist(), run.outages.time_s.tolist(), strict=True)
    spans = []
    for machine, up, time_s in rows:
        if up:
            spans.append((machine, down.pop(machine, 0.0), time_s))
        else:
            down[machine] = time_s
    spans += [(machine, since_s, run.end_s) for machine, since_s in down.items()]
    for machine, start_s, end_s in spans:
        if machine < lanes.machines:
            y, deep = TOP + tall * int(lanes.first[machine]), tall * int(lanes.count[machine])
            wide = max((end_s - start_s) * across, 0.8)
            yield (
                f'<rect class="down" x="{LEFT + start_s * across:.1f}" y="{y:.1f}" width="{wide:.1f}" '
                f'height="{deep:.1f}"><title>{escape(run.machines.name[machine])} was down</title></rect>'
            )


def _about(run: GpuRun, job: int, clock: Clock) -> str:
    """A job in a line."""
    jobs = run.jobs
    gpus = f"{jobs.gpus[job]:g} GPU{'' if jobs.gpus[job] == 1 else 's'}" if jobs.gpus[job] else "no GPU"
    needs = f"{jobs.workers[job]} × {gpus}" if jobs.workers[job] > 1 else gpus
    arrived_s, start_s, finish_s = jobs.arrival_s[job], jobs.start_s[job], jobs.finish_s[job]
    parts = [f"job {job} ({jobs.name[job]}), {jobs.kind[job]}, {needs}", f"arrived at {_time(arrived_s, clock)}"]
    if np.isfinite(start_s):
        parts.append(f"waited {_time(start_s - arrived_s, clock)}")
    if jobs.running_s[job] > 0:
        relative = jobs.work_run_s[job] / jobs.alone_run_s[job] if jobs.alone_run_s[job] > 0 else 1.0
        parts.append(f"ran {_time(jobs.running_s[job], clock)} at {100 * relative:.0f} % of its speed alone")
    if jobs.stops[job]:
        parts.append(f"stopped {jobs.stops[job]} times")
    parts.append(f"completed at {_time(finish_s, clock)}" if np.isfinite(finish_s) else "did not complete")
    return "; ".join([*parts, f"{jobs.fee[job]:.2f} USD"])


def _told(run: GpuRun, segment: int, clock: Clock) -> str:
    """One of the times that it ran, in a line."""
    start_s, end_s = run.segments.start_s[segment], run.segment_end_s[segment]
    job, why = int(run.segments.job[segment]), END_TEXT[int(run.segments.why[segment])]
    speed = f" at {100 * run.mean_speed[segment] / run.segments.alone[segment]:.0f} %" if end_s > start_s else ""
    return f"job {job} ({run.jobs.name[job]}): ran{speed} from {_time(start_s, clock)} to {_time(end_s, clock)}, {why}"


def _time(seconds: float, clock: Clock) -> str:
    return f"{seconds / clock.seconds:.3g} {clock.unit}" if clock.unit == "h" else f"{seconds:,.0f} s"


def _least(lanes: Lanes) -> int:
    return max(1, int(lanes.count[: lanes.machines].min(initial=1)))


def _short(text: str) -> str:
    return text if len(text) <= 15 else f"{text[:14]}…"
