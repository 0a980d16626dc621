"""The story of one elastic job as a time line that can be read, or as JSON."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dovetail.core.elastic import RESOURCES, SERVER, WORKER
from dovetail.evaluation.job_story_elastic import Decision, JobStory, Period
from dovetail.records.elastic import LEAST_WORTH, reason_text, role_words, worth_text

MAX_OTHERS = 3  # other jobs named in a line; the text sums up the rest, the JSON has them all
_UNITS = {"gpu": "GPU", "cpu": "CPU", "memory": "GB memory", "storage": "GB storage", "bandwidth": "Gbit/s"}
_ORDER = ("arrived", "decided", "had", "completed")


class Moment(NamedTuple):
    """A line of the time line; `details` are the same facts for programs."""

    first: int  # slot
    last: int
    kind: str
    text: str
    details: dict[str, Any]


def explain_json(story: JobStory) -> dict[str, Any]:
    """All of it, for programs; null stands for what was not said or never came."""
    run, job = story.run, story.job
    return {
        "schema": 1,
        "family": "elastic",
        "run": run.run,
        "scheduler": run.scheduler,
        "seed": run.seed,
        "job": job,
        "name": run.jobs.name[job],
        "summary": _summary(story),
        "demands": {
            name: dict(zip(RESOURCES, run.demand(role)[job].tolist(), strict=True))
            for role, name in ((WORKER, "worker"), (SERVER, "server"))
        },
        "decisions": [_decision_json(story, int(row)) for row in story.decision_rows],
        "timeline": [
            {"first_slot": one.first, "last_slot": one.last, "kind": one.kind, "text": one.text, **one.details}
            for one in timeline(story)
        ],
    }


def explain_text(story: JobStory) -> str:
    """The same for people."""
    run, job, facts = story.run, story.job, _summary(story)
    horizon = run.slots - 1 - story.arrival
    due = float(run.jobs.due[job])
    lines = [
        f"{_job(story, job)} under {run.scheduler} (run {run.run}, seed {run.seed})",
        "",
        f"  arrived         in slot {story.arrival} of {run.slots}, {run.slot_s:g} s each",
        f"  work            {facts['work']:,} worker-slots, at most {role_words(facts['max_workers'], WORKER)} "
        f"at a time, so {_count(story.fewest_slots, 'slot')} at least",
        f"  a worker takes  {_demand(run.demand(WORKER)[job])}",
        f"  a server takes  {_demand(run.demand(SERVER)[job])}",
        f"  worth           {worth_text(story.worth_after(0))} at once, {worth_text(story.worth_after(due))} after "
        f"{due:.3g} slots, {worth_text(story.worth_after(horizon))} at the end of the horizon",
        f"  promised        {_promised(facts)}",
        f"  became of it    {_fate(story, facts)}",
        f"  had             {facts['worker_slots']:,} worker-slots and {facts['server_slots']:,} server-slots in "
        f"{_count(facts['slots_with_workers'], 'slot')}, {role_words(facts['peak_workers'], WORKER)} at most",
        "",
        f"  {'slot':>11}  what happened",
    ]
    for moment in timeline(story):
        until = f" – {moment.last}" if moment.last > moment.first else ""
        lines.append(f"  {f'{moment.first}{until}':>11}  {moment.text}")
    return "\n".join(lines)


def timeline(story: JobStory) -> list[Moment]:
    """Everything that happened to the job, in order."""
    moments = [Moment(story.arrival, story.arrival, "arrived", "arrived", {})]
    moments += [_decided(story, one) for one in story.decisions()]
    moments += [_had(story, period) for period in story.periods()]
    if story.finish >= 0:
        gained = float(story.run.jobs.utility[story.job])
        moments.append(Moment(story.finish, story.finish, "completed", f"completed: utility {worth_text(gained)}", {}))
    return sorted(moments, key=lambda one: (one.last if one.kind == "completed" else one.first, _ORDER.index(one.kind)))


def _decided(story: JobStory, decision: Decision) -> Moment:
    table, row = story.run.decisions, int(decision.rows[0])
    facts = _decision_json(story, row)
    amount, last, promise = int(table.worker_slots[row]), int(table.last_slot[row]), int(table.promise[row])
    if table.rejected[row]:
        what = "rejected for good"
    elif decision.rows.size > 1:
        every = "a plan for the slot" if amount else "left waiting"
        what = f"{every}, in {decision.rows.size} decisions"
    elif not amount:
        what = "left waiting"
    else:
        servers = int(table.server_slots[row])
        what = f"planned: {amount:,} worker-slots and {servers:,} server-slots until slot {last}"
    promised = f", completion promised by the end of slot {promise}" if promise >= 0 else ""
    return Moment(
        decision.first,
        decision.last,
        "decided",
        f"{what}{promised}{_payoff(facts)}: {facts['reason']}",
        {**facts, "decisions": int(decision.rows.size)},
    )


def _payoff(facts: dict[str, Any]) -> str:
    parts = []
    if facts["payoff"] is not None:
        parts.append(
            f"payoff {facts['payoff']:.4g} = utility {worth_text(facts['utility'])} - cost {facts['cost']:.4g}"
        )
    elif facts["utility"] is not None:
        parts.append(f"utility {worth_text(facts['utility'])}")
    if facts["price"] is not None:
        parts.append(f"a worker-slot at {facts['price']:.4g}")
    return f" ({', '.join(parts)})" if parts else ""


def _had(story: JobStory, period: Period) -> Moment:
    if period.workers or period.servers:
        what = f"{role_words(period.workers, WORKER)}, {role_words(period.servers, SERVER)}"
    else:
        what = "nothing"
    total = sum(amount for _, amount in period.others)
    details = {
        "workers": period.workers,
        "servers": period.servers,
        "others": [{"job": job, "workers": amount} for job, amount in period.others],
    }
    if not period.others:
        return Moment(period.first, period.last, "had", f"{what}; nobody else had workers", details)
    named = ", ".join(f"{_job(story, job)} {_amount(amount)}" for job, amount in period.others[:MAX_OTHERS])
    left = len(period.others) - MAX_OTHERS
    more = f" and {_count(left, 'more job')}" if left > 0 else ""
    average = " on average" if period.slots > 1 else ""
    text = f"{what}; others had {_amount(total)} worker{'' if total == 1 else 's'}{average}: {named}{more}"
    return Moment(period.first, period.last, "had", text, details)


def _summary(story: JobStory) -> dict[str, Any]:
    jobs, job = story.run.jobs, story.job
    finished = story.finish >= 0
    return {
        "arrival": story.arrival,
        "finish": story.finish if finished else None,
        "rejected": None if jobs.rejected[job] < 0 else int(jobs.rejected[job]),
        "promise": None if jobs.promise[job] < 0 else int(jobs.promise[job]),
        "admitted": bool(jobs.admitted[job]),
        "jct_s": float(story.run.completion_s[job]) if finished else None,
        "work": int(jobs.work[job]),
        "work_left": int(jobs.work_left[job]),
        "max_workers": int(jobs.max_workers[job]),
        "worth": float(jobs.worth[job]),
        "decay": float(jobs.decay[job]),
        "due": float(jobs.due[job]),
        "utility": float(jobs.utility[job]),
        "worker_slots": int(story.workers.sum()),
        "server_slots": int(story.servers.sum()),
        "slots_with_workers": int((story.workers > 0).sum()),
        "peak_workers": int(story.workers.max(initial=0)),
    }


def _decision_json(story: JobStory, row: int) -> dict[str, Any]:
    table = story.run.decisions
    said = {name: _said(float(getattr(table, name)[row])) for name in ("utility", "cost", "price")}
    known = said["utility"] is not None and said["cost"] is not None
    return {
        "slot": int(table.slot[row]),
        "rejected": bool(table.rejected[row]),
        "promise": None if table.promise[row] < 0 else int(table.promise[row]),
        "worker_slots": int(table.worker_slots[row]),
        "server_slots": int(table.server_slots[row]),
        "last_planned_slot": None if table.last_slot[row] < 0 else int(table.last_slot[row]),
        **said,
        "payoff": float(table.utility[row] - table.cost[row]) if known else None,
        "reason": reason_text(int(table.reason[row])),
    }


def _promised(facts: dict[str, Any]) -> str:
    if facts["promise"] is None:
        return "nothing"
    if facts["finish"] is None:
        return f"completion by the end of slot {facts['promise']}, not kept"
    early = facts["promise"] - facts["finish"]
    when = "in that slot" if early == 0 else f"{_count(abs(early), 'slot')} {'earlier' if early > 0 else 'later'}"
    return f"completion by the end of slot {facts['promise']}; it came {when}"


def _fate(story: JobStory, facts: dict[str, Any]) -> str:
    if facts["finish"] is not None:
        best = story.worth_after(story.fewest_slots - 1)
        share = f", {100 * facts['utility'] / best:.0f} % of what it could be worth" if best >= LEAST_WORTH else ""
        took = f"{facts['finish'] - facts['arrival'] + 1} slots, {facts['jct_s']:,.0f} s"
        return f"completed in slot {facts['finish']} after {took}: utility {worth_text(facts['utility'])}{share}"
    if facts["rejected"] is not None:
        return f"rejected in slot {facts['rejected']}"
    return f"not completed: {facts['work_left']:,} of {facts['work']:,} worker-slots were left at the end"


def _demand(amounts: Any) -> str:
    named = zip(RESOURCES, amounts.tolist(), strict=True)
    return ", ".join(f"{amount:.3g} {_UNITS[name]}" for name, amount in named if amount)


def _job(story: JobStory, job: int) -> str:
    name = "".join(character if character.isprintable() else "?" for character in story.run.jobs.name[job])
    return f"job {job}" if name in (str(job), f"job {job}") else f"job {job} ({name})"


def _amount(amount: float) -> str:
    return f"{amount:.0f}" if amount == round(amount) else f"{amount:.1f}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _said(value: float) -> float | None:
    return value if math.isfinite(value) else None
