"""The story of one streaming job as a time line that can be read, or as JSON."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dovetail.evaluation.job_story_stream import JobStory, Late, Rescale
from dovetail.records.stream import HOUR_S, instance_words, reason_text

MAX_CHANGES = 4  # operators named in a line; the text sums up the rest, the JSON has them all
FULL = 0.9  # an operator that is full for this share of its time holds a job up,
HELD = 0.01  # and so does one that blocks another for this share of its time
LONG_S = 3 * HOUR_S  # runs from here on are told in hours
_ORDER = ("rescaled", "late")


class Moment(NamedTuple):
    """A line of the time line; `details` are the same facts for programs."""

    start_s: float
    end_s: float
    kind: str
    text: str
    details: dict[str, Any]


def explain_json(story: JobStory) -> dict[str, Any]:
    """All of it, for programs; null stands for what was not said."""
    run, job = story.run, story.job
    return {
        "schema": 1,
        "family": "stream",
        "run": run.run,
        "scheduler": run.scheduler,
        "seed": run.seed,
        "job": job,
        "name": run.jobs.name[job],
        "summary": _summary(story),
        "operators": [_operator_json(story, int(operator)) for operator in story.operators],
        "timeline": [
            {"start_s": one.start_s, "end_s": one.end_s, "kind": one.kind, "text": one.text, **one.details}
            for one in timeline(story)
        ],
    }


def explain_text(story: JobStory) -> str:
    """The same for people."""
    run, job, facts = story.run, story.job, _summary(story)
    least, most = int(story.instances.min()), int(story.instances.max())
    span = f"{least} to {most}" if least < most else "always"
    stopped = f"stood still for {_s(facts['down_s'])} in all" if facts["rescales"] else "nothing was ever changed"
    lines = [
        f"job {job} ({run.jobs.name[job]}) under {run.scheduler} (run {run.run}, seed {run.seed})",
        "",
        f"  measured        {facts['intervals']:,} intervals of {_s(run.interval_s)}, from {_s(facts['start_s'])} on",
        f"  records         {_big(facts['arrived'])} came, {_big(facts['delivered'])} left, "
        f"{_big(facts['lag_at_end'])} waited at the end",
        f"  latency         {_s(facts['latency_s'])} on average, {_s(facts['p99_latency_s'])} for 99 of 100; "
        f"its users wait {_s(facts['slo_s'])}",
        f"  late            in {_count(facts['late_intervals'], 'interval')}, "
        f"{100 * facts['slo_violations']:.3g} % of all",
        f"  instances       {facts['mean_instances']:.3g} on average ({span}), busy {100 * facts['utilisation']:.3g} % "
        f"of the time: {facts['instance_hours']:,.4g} instance-hours",
        f"  rescaled        {_count(facts['rescales'], 'time')}: {stopped}",
        f"  a rescale       takes {_s(facts['restart_s'])} and goes back to the last checkpoint, "
        f"{_s(facts['checkpoint_s'])} ago at most",
        f"  reward          {facts['reward']:.3f} on average",
        "",
        f"  {'operator':<24}{'instances':>16}{'busy':>8}{'blocked':>9}",
    ]
    for operator in story.operators.tolist():
        own = _operator_json(story, operator)
        low, high = own["least"], own["most"]
        count = f"{low} – {high}" if low < high else f"{low}"
        mean = f"{own['mean']:.3g} ({count})"
        shares = f"{100 * own['busy']:>6.1f} %{100 * own['blocked']:>7.1f} %"
        lines.append(f"  {own['name']:<24}{mean:>16}{shares}")
    unit, seconds = ("h", HOUR_S) if run.end_s >= LONG_S else ("s", 1.0)
    lines += ["", f"  {f'time, {unit}':>15}  what happened"]
    moments = timeline(story)
    for moment in moments:
        until = f" – {moment.end_s / seconds:,.6g}" if moment.end_s > moment.start_s else ""
        lines.append(f"  {f'{moment.start_s / seconds:,.6g}{until}':>15}  {moment.text}")
    if not moments:
        lines.append(f"  {'':>15}  nothing: it was neither rescaled nor late")
    return "\n".join(lines)


def timeline(story: JobStory) -> list[Moment]:
    """Everything that happened to the job, in order."""
    moments = [_rescaled(story, one) for one in story.rescales]
    moments += [_late(story, one) for one in story.late]
    return sorted(moments, key=lambda one: (one.start_s, _ORDER.index(one.kind)))


def _rescaled(story: JobStory, one: Rescale) -> Moment:
    changes = [_change_json(story, int(row)) for row in one.rows]
    total = f"{one.before} → {instance_words(one.after)}" if one.before != one.after else instance_words(one.after)
    cost = [f"stood still for {_s(one.down_s)}"]
    if math.isfinite(one.latency_after_s) and math.isfinite(one.latency_before_s):
        cost.append(f"latency {_s(one.latency_before_s)} just before, {_s(one.latency_after_s)} just after")
    if one.late_s > 0:
        whole = one.late_s >= story.run.interval_s - 1e-6
        cost.append("late until the next decision" if whole else f"late for {_s(one.late_s)}")
    text = f"rescaled, {total}: {_changes(changes)}; {', '.join(cost)}"
    facts = {
        "interval": one.interval,
        "before": one.before,
        "after": one.after,
        "down_s": one.down_s,
        "latency_before_s": _known(one.latency_before_s),
        "latency_after_s": _known(one.latency_after_s),
        "late_s": one.late_s,
        "changes": changes,
    }
    return Moment(one.start_s, one.start_s, "rescaled", text, facts)


def _changes(changes: list[dict[str, Any]]) -> str:
    """Operators with their numbers, those with the same reason together."""
    largest = sorted(changes, key=lambda one: -abs(one["after"] - one["before"]))[:MAX_CHANGES]
    groups: dict[str, list[str]] = {}
    for one in largest:
        demand = "" if one["demand"] is None else f" for {one['demand']:.3g}"
        groups.setdefault(one["reason"], []).append(f"{one['name']} {one['before']} → {one['after']}{demand}")
    told = "; ".join(f"{', '.join(named)} ({reason})" for reason, named in groups.items())
    left = len(changes) - len(largest)
    return f"{told} and {_count(left, 'more operator')}" if left else told


def _late(story: JobStory, one: Late) -> Moment:
    names = story.run.operators.name
    parts = [
        f"late: {_s(one.latency_s)} on average" + (f", {_s(one.worst_s)} at worst" if one.last > one.first else "")
    ]
    if one.full >= FULL or one.blocked_share >= HELD:
        parts.append(f"{names[one.operator]} held it up, {100 * one.full:.3g} % full on average")
        if one.blocked >= 0:
            parts[-1] += f", and blocked {names[one.blocked]} {100 * one.blocked_share:.2g} % of the time"
    else:
        parts.append(
            f"nobody held it up for long: {names[one.operator]} was fullest, {100 * one.full:.3g} % on average"
        )
    if one.down_s > 0:
        parts.append(f"it stood still for {_s(one.down_s)}")
    parts.append(f"{_big(one.lag)} records waited at the end")
    facts = {
        "first_interval": one.first,
        "last_interval": one.last,
        "latency_s": one.latency_s,
        "worst_s": one.worst_s,
        "down_s": one.down_s,
        "lag_at_end": one.lag,
        "operator": one.operator,
        "full": one.full,
        "blocked_operator": None if one.blocked < 0 else one.blocked,
        "blocked_share": one.blocked_share,
    }
    return Moment(one.start_s, one.end_s, "late", "; ".join(parts), facts)


def _change_json(story: JobStory, row: int) -> dict[str, Any]:
    decisions = story.run.decisions
    operator, demand = int(decisions.operator[row]), float(decisions.demand[row])
    return {
        "operator": operator,
        "name": story.run.operators.name[operator],
        "before": int(decisions.before[row]),
        "after": int(decisions.after[row]),
        "reason": reason_text(int(decisions.reason[row])),
        "demand": _known(demand),
    }


def _operator_json(story: JobStory, operator: int) -> dict[str, Any]:
    run = story.run
    own = run.parallelism[:, operator]
    return {
        "operator": operator,
        "name": run.operators.name[operator],
        "least": int(own.min()),
        "most": int(own.max()),
        "mean": float(own.mean()),
        "busy": float(run.of_operators("busy")[:, operator].mean()),
        "blocked": float(run.of_operators("blocked")[:, operator].mean()),
    }


def _summary(story: JobStory) -> dict[str, Any]:
    jobs, job = story.run.jobs, story.job
    metrics = {name: _known(value) for name, value in story.metrics.items()}
    return {
        **metrics,
        "rescales": len(story.rescales),
        "late_intervals": int((story.of("latency_s") > story.slo_s).sum()),
        "intervals": story.run.num_intervals,
        "start_s": float(story.run.interval_start_s[0]),
        "mean_instances": float(story.instances.mean()),
        "arrived": float(story.of("arrived").sum()),
        "delivered": float(story.of("delivered").sum()),
        "lag_at_end": float(story.of("lag")[-1]),
        "slo_s": story.slo_s,
        "restart_s": float(jobs.restart_s[job]),
        "checkpoint_s": float(jobs.checkpoint_s[job]),
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _s(seconds: float | None) -> str:
    """A time with the unit that suits it."""
    if seconds is None:
        return "–"
    if seconds >= 2 * HOUR_S:
        return f"{seconds / HOUR_S:,.3g} h"
    return f"{seconds / 60:.3g} min" if seconds >= 120 else f"{seconds:.3g} s"


def _big(amount: float) -> str:
    """So many records."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if amount >= size:
            return f"{amount / size:.4g} {word}"
    return f"{amount:,.0f}"


def _count(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"
