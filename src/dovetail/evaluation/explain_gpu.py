"""The story of one gpu job as a time line that can be read, or as JSON."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

from dovetail.cluster.gpu import GPU_TYPES
from dovetail.evaluation.job_story_gpu import JobStory, Stay, Wait
from dovetail.records.gpu import place_text, reason_text

MAX_OTHERS = 3  # other jobs named in a line; the text sums up the rest, the JSON has them all
MAX_MACHINES = 4  # the same of machines
_ORDER = ("arrived", "waited", "started", "ran", "stopped", "completed")


class Moment(NamedTuple):
    """A line of the time line; `details` are the same facts for programs."""

    start_s: float
    end_s: float
    kind: str
    text: str
    details: dict[str, Any]


def explain_json(story: JobStory) -> dict[str, Any]:
    """All of it, for programs; null stands for what was not said or never came."""
    run, job = story.run, story.job
    return {
        "schema": 1,
        "family": "gpu",
        "run": run.run,
        "scheduler": run.scheduler,
        "seed": run.seed,
        "job": job,
        "name": run.jobs.name[job],
        "summary": _summary(story),
        "waits": [_wait_json(story, one) for one in story.waits],
        "stays": [_stay_json(story, one) for one in story.stays],
        "timeline": [
            {"start_s": one.start_s, "end_s": one.end_s, "kind": one.kind, "text": one.text} for one in timeline(story)
        ],
    }


def explain_text(story: JobStory) -> str:
    """The same for people."""
    run, job, facts = story.run, story.job, _summary(story)
    lines = [
        f"{_job(story, job)} under {run.scheduler} (run {run.run}, seed {run.seed})",
        "",
        f"  trains          {facts['kind']}, sent by {facts['user']}",
        f"  needs           {_needs(facts)}",
        f"  work            {_s(facts['work_s'])} at speed 1, {_s(facts['estimate_s'])} by the estimate",
        f"  arrived         at {_s(story.arrival_s)}",
        f"  became of it    {_fate(facts)}",
        f"  speed           {_speed(facts)}",
        f"  fee             {facts['fee_usd']:.2f} USD",
        "",
        f"  {'time, s':>19}  what happened",
    ]
    for moment in timeline(story):
        until = f" – {moment.end_s:,.0f}" if moment.end_s > moment.start_s else ""
        lines.append(f"  {f'{moment.start_s:,.0f}{until}':>19}  {moment.text}")
    return "\n".join(lines)


def timeline(story: JobStory) -> list[Moment]:
    """Everything that happened to the job, in order."""
    moments = [Moment(story.arrival_s, story.arrival_s, "arrived", "arrived", {})]
    moments += [_waited(story, one) for one in story.waits]
    for stay in story.stays:
        moments += _stayed(story, stay)
    if math.isfinite(story.finish_s):
        moments.append(Moment(story.finish_s, story.finish_s, "completed", "completed", {}))
    return sorted(moments, key=lambda one: (one.start_s, one.end_s, _ORDER.index(one.kind)))


def _waited(story: JobStory, wait: Wait) -> Moment:
    count, later = len(wait.taken), sum(one.later for one in wait.taken)
    parts = [f"waited {_s(wait.seconds)}: {_room(story, wait)}", *_let_wait(story, wait)]
    if count:
        came = f", {later:,} of which came later" if later else ""
        parts.append(f"{_count(count, 'job')} started before it{came}")
        largest = sorted(wait.taken, key=lambda one: (-one.gpu_hours, one.row))[:MAX_OTHERS]
        named = ", ".join(f"{_job(story, one.job)} {one.gpu_hours:.3g} GPU-hours" for one in largest)
        parts.append(f"{'they took' if count <= MAX_OTHERS else 'the largest took'} {named}")
        reasons = Counter(int(story.run.decisions.reason[one.row]) for one in wait.taken)
        code, times = reasons.most_common(1)[0]
        share = "" if times == count else f" ({times:,} of them)"
        parts.append(f"because: {reason_text(code)}{share}")
    else:
        parts.append("nobody else was started")
    return Moment(wait.start_s, wait.end_s, "waited", "; ".join(parts), _wait_json(story, wait))


def _room(story: JobStory, wait: Wait) -> str:
    """Whether it would have fitted."""
    workers = int(story.run.jobs.workers[story.job])
    free = f"{wait.free_gpus:.3g} GPUs free on average"
    if wait.room_share >= 0.995:
        return f"there was room for it all the time, {free}"
    if wait.room_share > 0:
        return f"there was room for it {100 * wait.room_share:.2g} % of the time, {free}"
    if workers == 1:
        return f"no machine had room for it, {free}"
    return f"at most {wait.most_workers} of its {workers} workers would have fitted, {free}"


def _let_wait(story: JobStory, wait: Wait) -> list[str]:
    """Whether it was let wait although it fitted, and why as far as is known."""
    found = wait.let_wait
    if found is None:
        return []
    needed = float(story.run.jobs.all_gpus[story.job])
    free = f"{found.free_gpus:.3g} of {story.run.num_gpus} GPUs free and {needed:g} needed"
    why = found.why or "why is not recorded"
    return [f"it was let wait although it fitted, first at {_s(found.since_s)}, with {free}: {why}"]


def _stayed(story: JobStory, stay: Stay) -> list[Moment]:
    decisions = story.run.decisions
    facts = _stay_json(story, stay)
    why = ""
    if stay.decision >= 0:
        said = _said_scores(facts)
        why = f": {facts['reason']}{said}; {facts['place']}"
    started = Moment(stay.start_s, stay.start_s, "started", f"started on {_machines(story, stay)}{why}", facts)
    relative = f", {100 * stay.speed / stay.alone:.0f} % of alone on the same types" if stay.seconds > 0 else ""
    low, high = f"{stay.slowest:.2f}", f"{stay.fastest:.2f}"
    span = f" ({low} to {high})" if low != high else ""
    speed = f"at speed {stay.speed:.2f}{span}{relative}" if stay.seconds > 0 else "for no time"
    text = f"ran {_s(stay.seconds)} {speed}, for {stay.fee:.2f} USD; {_together(story, stay)}"
    found = [started, Moment(stay.start_s, stay.end_s, "ran", text, facts)]
    if stay.ended in ("was stopped", "lost a machine"):
        reason = f": {reason_text(int(decisions.reason[stay.stopped_by]))}" if stay.stopped_by >= 0 else ""
        found.append(Moment(stay.end_s, stay.end_s, "stopped", f"{stay.ended}{reason}", {}))
    return found


def _machines(story: JobStory, stay: Stay) -> str:
    named = []
    for machine, workers, devices in stay.machines[:MAX_MACHINES]:
        kind = story.run.machines.type[machine]
        gpus = f" GPU {_numbers(devices)}" if devices else ""
        many = f" ({_count(workers, 'worker')})" if len(stay.machines) > 1 or workers > 1 else ""
        named.append(f"{story.run.machines.name[machine]} ({kind}){gpus}{many}")
    left = len(stay.machines) - MAX_MACHINES
    more = f" and {_count(left, 'more machine')}" if left > 0 else ""
    racks = f", in {stay.racks} racks" if stay.racks > 1 else ""
    return f"{', '.join(named)}{more}{racks}"


def _together(story: JobStory, stay: Stay) -> str:
    if not stay.neighbours:
        return "nobody else was on its machines"
    longest = stay.neighbours[:MAX_OTHERS]
    named = ", ".join(
        f"{_job(story, one.job)} for {_s(one.seconds)}{' on the same GPU' if one.same_device else ''}"
        for one in longest
    )
    left = len(stay.neighbours) - MAX_OTHERS
    more = f" and {_count(left, 'more job')}" if left > 0 else ""
    return f"beside it: {named}{more}"


def _summary(story: JobStory) -> dict[str, Any]:
    jobs, job = story.run.jobs, story.job
    done = math.isfinite(story.finish_s)
    jct_s = story.finish_s - story.arrival_s if done else None
    running_s, alone_s = float(jobs.running_s[job]), float(jobs.alone_run_s[job])
    mask = int(jobs.types[job])
    return {
        "kind": jobs.kind[job],
        "user": jobs.user[job],
        "workers": int(jobs.workers[job]),
        "gpus": float(jobs.gpus[job]),
        "cpus": float(jobs.cpus[job]),
        "memory_gb": float(jobs.memory[job]),
        "types": None if mask == -1 else [one.name for bit, one in enumerate(GPU_TYPES) if mask >> bit & 1],
        "work_s": float(jobs.work_s[job]),
        "estimate_s": float(jobs.estimate_s[job]),
        "arrival_s": story.arrival_s,
        "start_s": _known(float(jobs.start_s[job])),
        "finish_s": _known(story.finish_s),
        "jct_s": jct_s,
        "running_s": running_s,
        "waiting_s": None if jct_s is None else max(jct_s - running_s, 0.0),
        "stops": int(jobs.stops[job]),
        "fee_usd": float(jobs.fee[job]),
        "speed": float(jobs.work_run_s[job]) / running_s if running_s > 0 else None,
        "relative_speed": float(jobs.work_run_s[job]) / alone_s if alone_s > 0 else None,
    }


def _wait_json(story: JobStory, wait: Wait) -> dict[str, Any]:
    decisions = story.run.decisions
    return {
        "start_s": wait.start_s,
        "end_s": wait.end_s,
        "since": wait.since,
        "room_share": wait.room_share,
        "most_workers_that_fitted": wait.most_workers,
        "free_gpus": wait.free_gpus,
        "let_wait": None if wait.let_wait is None else wait.let_wait._asdict(),
        "taken": [
            {
                "job": one.job,
                "name": story.run.jobs.name[one.job],
                "time_s": float(decisions.time_s[one.row]),
                "came_later": one.later,
                "gpu_hours": one.gpu_hours,
                "reason": reason_text(int(decisions.reason[one.row])),
                "priority": _known(float(decisions.priority[one.row])),
            }
            for one in wait.taken
        ],
    }


def _stay_json(story: JobStory, stay: Stay) -> dict[str, Any]:
    decisions, machines = story.run.decisions, story.run.machines
    row = stay.decision
    said: dict[str, Any] = {"reason": None, "place": None, "priority": None, "affinity": None, "waiting": None}
    if row >= 0:
        said = {
            "reason": reason_text(int(decisions.reason[row])),
            "place": place_text(int(decisions.place[row])),
            "priority": _known(float(decisions.priority[row])),
            "affinity": _known(float(decisions.affinity[row])),
            "waiting": int(decisions.waiting[row]),
        }
    return {
        "start_s": stay.start_s,
        "end_s": stay.end_s,
        "ended": stay.ended,
        **said,
        "machines": [
            {"machine": machines.name[m], "type": machines.type[m], "workers": workers, "gpus": list(devices)}
            for m, workers, devices in stay.machines
        ],
        "racks": stay.racks,
        "speed": _known(stay.speed),
        "alone": stay.alone,
        "fee_usd": stay.fee,
        "neighbours": [
            {"job": one.job, "seconds": one.seconds, "same_gpu": one.same_device} for one in stay.neighbours
        ],
    }


def _needs(facts: dict[str, Any]) -> str:
    gpus = f"{facts['gpus']:g} GPU{'' if facts['gpus'] == 1 else 's'}" if facts["gpus"] else "no GPU"
    each = f"{gpus}, {facts['cpus']:g} processors and {facts['memory_gb']:g} GB"
    types = "" if facts["types"] is None else f", on {' or '.join(facts['types'])} only"
    if facts["workers"] == 1:
        return f"{each}{types}"
    return f"{facts['workers']} workers of {each} each, all at once{types}"


def _fate(facts: dict[str, Any]) -> str:
    stops = f", stopped {_count(facts['stops'], 'time')}" if facts["stops"] else ""
    if facts["jct_s"] is None:
        return f"not completed; ran {_s(facts['running_s'])}{stops}"
    return (
        f"completed at {_s(facts['finish_s'])}, after {_s(facts['jct_s'])}: waited {_s(facts['waiting_s'])}, "
        f"ran {_s(facts['running_s'])}{stops}"
    )


def _speed(facts: dict[str, Any]) -> str:
    if facts["speed"] is None:
        return "it never ran"
    return f"{facts['speed']:.2f} on average, {100 * facts['relative_speed']:.0f} % of alone on the same types"


def _said_scores(facts: dict[str, Any]) -> str:
    said = [f"{name} {facts[name] + 0.0:.4g}" for name in ("priority", "affinity") if facts[name] is not None]
    return f" ({', '.join(said)})" if said else ""


def _job(story: JobStory, job: int) -> str:
    name = "".join(character if character.isprintable() else "?" for character in story.run.jobs.name[job])
    return f"job {job}" if name in (str(job), f"job {job}", f"j{job}") else f"job {job} ({name})"


def _numbers(devices: tuple[int, ...]) -> str:
    ordered = sorted(set(devices))
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}–{ordered[-1]}"
    return ", ".join(map(str, ordered))


def _s(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
