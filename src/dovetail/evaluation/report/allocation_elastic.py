"""The picture of a report of the elastic family: a row is a job, a bar what it had, the darker the more workers.

Plain SVG text, so it shows without any script; the script adds tabs and picks out a job.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dovetail.core.elastic import SERVER, WORKER
from dovetail.evaluation.report import palette
from dovetail.evaluation.report.picture import Picture, asset
from dovetail.evaluation.report.svg import nice_axis
from dovetail.records.elastic import ElasticRun, role_words, worth_text
from dovetail.records.perfetto_elastic import Stretch, stretches

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 1180, 64, 10, 8, 34
ROW_MOST, ROW_LEAST, HEIGHT = 18.0, 3.0, 720.0  # pixels
MAX_ROWS = 240  # jobs drawn
MAX_BARS = 6_000  # of one run
FAINTEST = 0.28  # opacity of a single worker


def allocation(shown: list[tuple[int, str, ElasticRun]]) -> Picture:
    """The allocation of every run, on scales that all share."""
    colours = palette.job_colours()
    peak = max((int(run.standing(WORKER).max(initial=0)) for _, _, run in shown), default=0)
    sheets = []
    for place, label, run in shown:
        title = f"{escape(label)}, seed {run.seed}"
        svg, note = _svg(run, peak, colours)
        words = f'<p class="note">{escape(note)}</p>' if note else ""
        sheets.append(
            f'<div class="sheet" data-label="{escape(label)}" data-place="{place}"><h4>{title}</h4>{words}{svg}</div>'
        )
    html = asset("allocation.html").replace("[[sheets]]", "".join(sheets)).replace("[[peak]]", role_words(peak, WORKER))
    return Picture(html, ("allocation.js",))


def _svg(run: ElasticRun, peak: int, colours: list[str]) -> tuple[str, str]:
    jobs = min(len(run.jobs), MAX_ROWS)
    row = min(ROW_MOST, max(ROW_LEAST, HEIGHT / max(jobs, 1)))
    high = TOP + row * jobs + BOTTOM
    across = (WIDTH - LEFT - RIGHT) / run.slots
    out = [
        f'<svg class="allocation" viewBox="0 0 {WIDTH} {high:.0f}" role="img" aria-label="Allocation by job and slot">'
    ]
    out += _ground(run, jobs, row, across)
    drawn = 0
    workers, servers = run.standing(WORKER), run.standing(SERVER)
    left_out = 0
    for job in range(jobs):
        y = TOP + job * row
        bars = stretches(workers[job], servers[job])
        room = max(0, MAX_BARS - drawn)
        left_out += max(0, len(bars) - room)
        drawn += min(len(bars), room)
        out.append(f'<g class="job" data-job="{job}" tabindex="-1">')
        out += _job(run, job, y, row, across, bars[:room], peak, colours)
        out.append("</g>")
    out.append("</svg>")
    notes = [f"the first {jobs} of {len(run.jobs):,} jobs are drawn"] if jobs < len(run.jobs) else []
    notes += [f"{left_out:,} bars of later jobs are left out"] if left_out else []
    return "".join(out), "; ".join(notes)


def _ground(run: ElasticRun, jobs: int, row: float, across: float) -> Iterator[str]:
    """The time axis, and the numbers of the jobs."""
    bottom = TOP + row * jobs
    for tick in nice_axis(float(run.slots), wanted=12).ticks:
        x = LEFT + tick * across
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom + 4:.1f}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{tick:g}</text>'
    yield (
        f'<text class="label" x="{(LEFT + WIDTH) / 2}" y="{bottom + 30:.1f}" text-anchor="middle">'
        f"slot ({run.slot_s:g} s each)</text>"
    )
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100) if step * row >= 11)
    for job in range(0, jobs, every):
        yield f'<text x="{LEFT - 8}" y="{TOP + (job + 0.5) * row + 3.5:.1f}" text-anchor="end">{job}</text>'


def _job(
    run: ElasticRun, job: int, y: float, row: float, across: float, bars: list[Stretch], peak: int, colours: list[str]
) -> Iterator[str]:
    jobs, name = run.jobs, escape(run.jobs.name[job])
    finish, rejected = int(jobs.finish[job]), int(jobs.rejected[job])
    last = finish if finish >= 0 else rejected if rejected >= 0 else run.slots - 1
    start, end = LEFT + int(jobs.arrival[job]) * across, LEFT + (last + 1) * across
    tall = max(row - 1.0, row * 0.8)
    yield f'<rect class="hit" x="{LEFT}" y="{y:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{row:.1f}"/>'
    fate = (
        f"completed in slot {finish}, utility {worth_text(float(jobs.utility[job]))}"
        if finish >= 0
        else "did not complete"
    )
    fate = f"rejected in slot {rejected}" if rejected >= 0 else fate
    yield (
        f'<rect class="stay" x="{start:.1f}" y="{y:.1f}" width="{max(end - start, 1):.1f}" height="{tall:.1f}">'
        f"<title>job {job} ({name}): arrived in slot {jobs.arrival[job]}, {fate}</title></rect>"
    )
    colour = colours[job % len(colours)]
    for bar in bars:
        x, width = LEFT + bar.first * across, (bar.last - bar.first + 1) * across
        shade = FAINTEST + (1 - FAINTEST) * (bar.workers / max(peak, 1)) ** 0.5
        when = f"slot {bar.first}" if bar.first == bar.last else f"slots {bar.first} to {bar.last}"
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width - 0.3, 0.7):.1f}" height="{tall:.1f}" fill="{colour}" '
            f'fill-opacity="{shade:.2f}"><title>job {job} ({name}), {when}: {role_words(bar.workers, WORKER)}, '
            f"{role_words(bar.servers, SERVER)}; {fate}</title></rect>"
        )
    middle, half = y + tall / 2, min(tall / 2, 4.0)
    if finish >= 0:
        x = end
        yield f'<path class="done" d="M{x:.1f} {y:.1f}v{tall:.1f}"/>'
    elif rejected >= 0:
        a, b = start + across / 2 - half, start + across / 2 + half
        high, low = middle - half, middle + half
        yield f'<path class="rejected" d="M{a:.1f} {high:.1f}L{b:.1f} {low:.1f}M{a:.1f} {low:.1f}L{b:.1f} {high:.1f}"/>'
    promise = int(jobs.promise[job])
    if promise >= 0 and promise != finish:
        x = LEFT + (promise + 1) * across
        yield f'<path class="promise" d="M{x:.1f} {y:.1f}v{tall:.1f}"><title>promised by slot {promise}</title></path>'
