"""Jobs of `sacct --json`; versions of Slurm differ in how they nest values, and the forms since 21.08 are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.core.delimited import refusal
from dovetail.core.errors import Fault
from dovetail.workloads.readers.slurm_fields import Accounted, Tres


def read_jobs(path: Path, text: str, faults: list[Fault]) -> list[Accounted]:
    """All jobs; rows are positions in the list, counted from 1."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refusal(path, None, f"not JSON: {str(error)[:120]}", "output of sacct --json") from None
    jobs = values.get("jobs") if isinstance(values, dict) else None
    if not isinstance(jobs, list):
        raise refusal(path, None, "no list of jobs", '{"jobs": [...]}')
    found = []
    for number, job in enumerate(jobs, 1):
        one = _job(str(path), number, job, faults)
        if one is not None:
            found.append(one)
    return found


def _job(file: str, number: int, job: Any, faults: list[Fault]) -> Accounted | None:
    def refuse(field: str, problem: str, expected: str) -> None:
        faults.append(Fault(file, number, field, problem[:100], expected))

    if not isinstance(job, Mapping):
        refuse("jobs", f"{job!r}", "an object")
        return None
    name, times = _name(job), job.get("time")
    if name is None:
        refuse("job_id", f"{job.get('job_id')!r}", "a number")
    submit_s = ran_s = None
    if isinstance(times, Mapping):
        submit_s, ran_s = _number(times.get("submission")), _number(times.get("elapsed"))
    if submit_s is None or ran_s is None:
        refuse("time", "no times of submission and running", "submission and elapsed, in seconds")
    tres = _tres(job.get("tres"))
    if tres is None:
        refuse("tres", "no resources", "requested or allocated: a list of type, name and count")
    if name is None or submit_s is None or ran_s is None or tres is None:
        return None
    limit = _number(times.get("limit")) if isinstance(times, Mapping) else None
    nodes = _number(job.get("allocation_nodes")) or 1.0
    user = job.get("user") or (job.get("association") or {}).get("user") or ""
    return Accounted(
        number, name, str(user), _state(job), submit_s, ran_s, 60 * limit if limit else None, tres, int(nodes)
    )


def _name(job: Mapping[str, Any]) -> str | None:
    number = _number(job.get("job_id"))
    if number is None:
        return None
    array = job.get("array")
    if isinstance(array, Mapping) and _number(array.get("job_id")):
        task = _number(array.get("task_id")) if _is_set(array.get("task_id")) else None
        if task is None and isinstance(array.get("task"), int):
            task = float(array["task"])
        if task is not None:
            return f"{_number(array.get('job_id')):.0f}_{task:.0f}"
    return f"{number:.0f}"


def _state(job: Mapping[str, Any]) -> str:
    state = job.get("state")
    current = state.get("current") if isinstance(state, Mapping) else state
    if isinstance(current, list):
        current = current[0] if current else ""
    return str(current or "").upper()


def _tres(tres: Any) -> Tres | None:
    if not isinstance(tres, Mapping):
        return None
    rows = tres.get("requested") or tres.get("allocated")
    if not isinstance(rows, list) or not rows:
        return None
    amount = {"cpu": 0.0, "mem": 0.0, "node": 0.0}
    gpus = typed = 0.0
    types = []
    for row in rows:
        count = _number(row.get("count")) if isinstance(row, Mapping) else None
        if count is None:
            return None
        name = str(row.get("name") or "")
        if row.get("type") in amount:
            amount[row["type"]] = count
        elif row.get("type") == "gres" and name == "gpu":
            gpus = count
        elif row.get("type") == "gres" and name.startswith("gpu:"):
            typed += count
            types.append(name.partition(":")[2])
    return Tres(amount["cpu"], amount["mem"] / 1024, amount["node"], gpus or typed, tuple(types))


def _is_set(value: Any) -> bool:
    return not isinstance(value, Mapping) or bool(value.get("set"))


def _number(value: Any) -> float | None:
    """A number, as it is or as {"set": true, "infinite": false, "number": 5}; None if it is not there."""
    if isinstance(value, Mapping):
        if not value.get("set") or value.get("infinite"):
            return None
        value = value.get("number")
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return float(value)
