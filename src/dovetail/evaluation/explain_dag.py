"""The story of one job as a time line that can be read, or as JSON.

The time in the system is cut into phases: until the first executors were given, then at every completion of a
stage.  Within a phase, decisions that are alike are told together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.evaluation.job_story_dag import JobStory, StageStory
from dovetail.records.dag import reason_text

MAX_OTHERS = 4  # other jobs named in one phase; the text sums up the rest, the JSON has them all


@dataclass(frozen=True, slots=True)
class Moment:
    """A line of the time line; `details` are the same facts for programs."""

    time_s: float
    until_s: float
    kind: str
    text: str
    details: dict[str, Any]


def explain_json(story: JobStory) -> dict[str, Any]:
    """All of it, for programs; null stands for times that never came."""
    change_s, count = story.executors_over_time
    return {
        "schema": 1,
        "family": "dag",
        "run": story.run.run,
        "scheduler": story.run.scheduler,
        "seed": story.run.seed,
        "job": story.job,
        "name": story.run.jobs.name[story.job],
        "dag": story.run.jobs.dag[story.job],
        "summary": _summary(story),
        "stages": [_stage_json(stage) for stage in story.stages],
        "critical_chain": [stage.stage for stage in story.critical_chain],
        "executors": {"time_s": change_s.tolist(), "count": count.tolist()},
        "timeline": [
            {
                "time_s": moment.time_s,
                "until_s": moment.until_s,
                "kind": moment.kind,
                "text": moment.text,
                **moment.details,
            }
            for moment in timeline(story, shorten=False)
        ],
    }


def explain_text(story: JobStory) -> str:
    """The same for people."""
    facts, run = _summary(story), story.run
    lines = [
        f"{_job(story, story.job)} of kind {_clean(run.jobs.dag[story.job])} under {run.scheduler} "
        f"(run {run.run}, seed {run.seed})",
        "",
        f"  in the system   {_span(story)}",
    ]
    if facts["jct_s"] is not None:
        alone = f"the {facts['ideal_s']:.1f} s it takes at least alone on the {run.executors} executors"
        lines.append(f"  slowdown        {facts['slowdown']:.1f} times {alone}")
    whole = max(story.end_s - story.arrival_s, 1e-12)
    mean, peak = facts["mean_executors"], facts["peak_executors"]
    for name, title, note in (
        ("waiting_s", "waited", "no executor ran its tasks or was on its way"),
        ("on_the_way_s", "on the way", "nothing ran, but executors were promised or moving"),
        ("running_s", "ran", f"on {mean:.1f} executors on average, {peak} at most"),
    ):
        lines.append(f"  {title:<15} {facts[name]:.1f} s ({100 * facts[name] / whole:.0f} %): {note}")
    passed = _count(facts["passed_over_executors"], "executor")
    lines.append(f"  passed over     {passed} went to other jobs while it had tasks ready that nobody was coming for")
    critical = story.critical_stage
    if critical is not None and math.isfinite(critical.complete_s):
        took = f"{critical.complete_s - critical.ready_s:.1f} s from ready to complete"
        chain = " → ".join(str(stage.stage) for stage in story.critical_chain)
        lines.append(f"  critical stage  {_stage(critical)}: {took}, the longest of the chain {chain} to the end")
    lines += ["", f"  {'time, s':>17}  what happened"]
    for moment in timeline(story):
        until = f" – {moment.until_s:.1f}" if moment.until_s - moment.time_s >= 0.05 else ""
        lines.append(f"  {f'{moment.time_s:.1f}{until}':>17}  {moment.text}")
    return "\n".join(lines)


def timeline(story: JobStory, *, shorten: bool = True) -> list[Moment]:
    """Everything that happened to the job, in order."""
    moments = [*_milestones(story)]
    for phase_start_s, phase_end_s in _phases(story):
        moments += _given(story, phase_start_s, phase_end_s)
        moments += _passed_over(story, phase_start_s, phase_end_s, shorten=shorten)
    order = {
        "arrived": 0,
        "stage_completed": 1,
        "passed_over": 2,
        "given": 3,
        "stage_started": 4,
        "completed": 5,
    }
    return sorted(moments, key=lambda moment: (moment.time_s, order[moment.kind]))


def _milestones(story: JobStory) -> Iterator[Moment]:
    tasks = sum(stage.tasks for stage in story.stages)
    work_s = float(story.run.jobs.work_s[story.job])
    text = f"arrived: {_count(len(story.stages), 'stage')}, {_count(tasks, 'task')}, {work_s:.0f} s of work"
    yield Moment(story.arrival_s, story.arrival_s, "arrived", text, {"stages": len(story.stages), "tasks": tasks})
    for stage in story.stages:
        details = {"stage": stage.stage}
        if math.isfinite(stage.first_start_s):
            waited = stage.first_start_s - stage.ready_s
            late = f", {waited:.1f} s after it was ready" if waited >= 0.05 else ""
            yield Moment(
                stage.first_start_s,
                stage.first_start_s,
                "stage_started",
                f"{_stage(stage)} started{late}",
                details,
            )
        if math.isfinite(stage.complete_s):
            freed = [child.stage for child in story.stages if _unlocks(story, stage, child)]
            then = f"; now ready: {', '.join(map(str, freed))}" if freed else ""
            lost = f", {stage.lost} lost to failures" if stage.lost else ""
            ran = f"{_count(stage.tasks, 'task')} on {_count(stage.executors, 'executor')}{lost}"
            text = f"{_stage(stage)} completed ({ran}){then}"
            yield Moment(stage.complete_s, stage.complete_s, "stage_completed", text, details | {"unlocked": freed})
    if math.isfinite(story.finish_s):
        jct_s = story.finish_s - story.arrival_s
        yield Moment(story.finish_s, story.finish_s, "completed", f"completed after {jct_s:.1f} s", {"jct_s": jct_s})


def _phases(story: JobStory) -> list[tuple[float, float]]:
    given_s = story.run.decisions.time_s[story.own_decisions]
    cuts = {story.arrival_s, *(stage.complete_s for stage in story.stages), *given_s[:1].tolist()}
    inside = sorted(cut for cut in cuts if story.arrival_s <= cut < story.end_s)
    return list(zip(inside, [*inside[1:], math.inf], strict=True))


def _given(story: JobStory, start_s: float, end_s: float) -> Iterator[Moment]:
    decisions = story.run.decisions
    rows = _within(story.own_decisions, decisions.time_s, start_s, end_s)
    for (stage, reason), group in _groups(rows, decisions.stage, decisions.reason):
        count = int(decisions.given[group].sum())
        why = reason_text(reason)
        text = f"got {_count(count, 'executor')} for {_stage(story.stages[stage])}{_times(group)}: {why}"
        details = {"stage": stage, "executors": count, "decisions": group.size, "reason": why}
        yield _moment("given", decisions.time_s[group], text, details)


def _passed_over(story: JobStory, start_s: float, end_s: float, *, shorten: bool) -> Iterator[Moment]:
    decisions = story.run.decisions
    rows = _within(story.passed_over, decisions.time_s, start_s, end_s)
    groups = _groups(rows, decisions.job, decisions.reason)
    groups.sort(key=lambda item: (-int(decisions.given[item[1]].sum()), item[0]))
    shown = groups[: MAX_OTHERS if shorten else None]
    if len(groups) == len(shown) + 1:
        shown = groups
    for (job, reason), group in shown:
        count = int(decisions.given[group].sum())
        why = reason_text(reason)
        text = f"{_count(count, 'executor')} went to {_job(story, job)} instead{_times(group)}: {why}"
        details = {"job": job, "executors": count, "decisions": group.size, "reason": why}
        yield _moment("passed_over", decisions.time_s[group], text, details)
    rest = groups[len(shown) :]
    if rest:
        group = np.sort(np.concatenate([rows_ for _, rows_ in rest]))
        count, jobs = int(decisions.given[group].sum()), len({job for (job, _), _ in rest})
        text = f"{_count(count, 'executor')} went to {_count(jobs, 'other job')} instead{_times(group)}"
        yield _moment("passed_over", decisions.time_s[group], text, {"executors": count, "decisions": group.size})


def _summary(story: JobStory) -> dict[str, Any]:
    jobs = story.run.jobs
    finished = math.isfinite(story.finish_s)
    change_s, count = story.executors_over_time
    running_s = story.shares_s["running_s"]
    busy_s = float((np.diff(change_s) * count[:-1]).sum()) if change_s.size else 0.0
    jct_s = story.finish_s - story.arrival_s if finished else None
    critical = story.critical_stage
    return {
        "arrival_s": story.arrival_s,
        "finish_s": story.finish_s if finished else None,
        "jct_s": jct_s,
        "ideal_s": float(jobs.ideal_s[story.job]),
        "slowdown": None if jct_s is None else jct_s / float(jobs.ideal_s[story.job]),
        **story.shares_s,
        "mean_executors": busy_s / running_s if running_s > 0 else 0.0,
        "peak_executors": int(count.max(initial=0)),
        "passed_over_executors": int(story.run.decisions.given[story.passed_over].sum()),
        "critical_stage": None if critical is None else critical.stage,
    }


def _stage_json(stage: StageStory) -> dict[str, Any]:
    times = {"ready_s": stage.ready_s, "first_start_s": stage.first_start_s, "complete_s": stage.complete_s}
    return {
        "stage": stage.stage,
        "name": stage.name,
        "tasks": stage.tasks,
        "parents": list(stage.parents),
        **{name: value if math.isfinite(value) else None for name, value in times.items()},
        "executors": stage.executors,
        "lost": stage.lost,
    }


def _moment(kind: str, time_s: Floats, text: str, details: dict[str, Any]) -> Moment:
    return Moment(float(time_s.min()), float(time_s.max()), kind, text, details)


def _within(rows: Ints, time_s: Floats, start_s: float, end_s: float) -> Ints:
    return rows[(time_s[rows] >= start_s) & (time_s[rows] < end_s)]


def _groups(rows: Ints, one: Ints, other: Ints) -> list[tuple[tuple[int, int], Ints]]:
    """Rows by the pair of values they have, in order of first appearance."""
    found: dict[tuple[int, int], list[int]] = {}
    for row in rows.tolist():
        found.setdefault((int(one[row]), int(other[row])), []).append(row)
    return [(pair, np.array(group, dtype=np.int64)) for pair, group in found.items()]


def _unlocks(story: JobStory, stage: StageStory, child: StageStory) -> bool:
    return stage.stage in child.parents and child.ready_s == stage.complete_s


def _span(story: JobStory) -> str:
    if math.isfinite(story.finish_s):
        jct_s = story.finish_s - story.arrival_s
        return f"{jct_s:.1f} s, from {story.arrival_s:.1f} s to {story.finish_s:.1f} s"
    return f"from {story.arrival_s:.1f} s, not completed when the run ended at {story.end_s:.1f} s"


def _job(story: JobStory, job: int) -> str:
    name = _clean(story.run.jobs.name[job])
    return f"job {job}" if name in (str(job), f"job {job}") else f"job {job} ({name})"


def _stage(stage: StageStory) -> str:
    name = _clean(stage.name)
    return f"stage {stage.stage}" if name in (str(stage.stage), "") else f"stage {stage.stage} ({name})"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _times(group: Ints) -> str:
    return "" if group.size == 1 else f" in {group.size} decisions"


def _clean(text: str) -> str:
    """Names come from files; what would move a terminal's cursor is not shown."""
    return "".join(character if character.isprintable() else "?" for character in text)
