"""What `squeue --json` says about jobs.

Version 22.05 writes plain numbers and null; later ones write `{"set": true, "infinite": false, "number": 10}` and lists
of states.  Both are read.  A job that cannot be read is an error that names it, for a queue must not act on a guess.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.gres import parse_tres
from dovetail.execution.engines.slurm.hostlist import expand

PENDING = "PENDING"
COMPLETED = "COMPLETED"
COMPLETING = "COMPLETING"
HOLDS_NODES = frozenset(
    {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT", COMPLETING}
)
REQUEUED = frozenset({"REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD"})  # on the way back to the queue
_NICE_RANGE = 1 << 32
_ABSENT = object()


@dataclass(frozen=True)
class SlurmJob:
    """A job, as far as a queue in front of Slurm needs to know it.  Times in seconds since 1970; 0: not known."""

    job_id: int
    name: str
    user: str
    partition: str
    state: str
    reason: str  # why it waits, by Slurm
    is_held: bool
    comment: str
    admin_comment: str
    submit_s: float
    eligible_s: float
    start_s: float
    end_s: float
    limit_s: float  # inf: none
    restarts: int
    nice: int
    nodes: tuple[str, ...]  # where it runs
    required_nodes: tuple[str, ...]
    excluded_nodes: tuple[str, ...]
    wishes: tuple[str, ...]  # what it asks for that no view can show, in words
    cpus: int
    tasks: int
    node_count: int
    max_nodes: int  # 0: as many as it takes
    tasks_per_node: int  # 0: not said
    tres: Mapping[str, float]  # asked for in all
    memory_per_node: bool  # as opposed to per processor, or per GPU
    gres_per_node: str
    gres_per_task: str
    gres_per_job: str
    gres_held: tuple[str, ...]  # by node

    @property
    def is_pending(self) -> bool:
        return self.state == PENDING

    @property
    def holds_nodes(self) -> bool:
        return self.state in HOLDS_NODES and bool(self.nodes)

    @property
    def is_ended(self) -> bool:
        return not self.is_pending and self.state not in HOLDS_NODES and self.state not in REQUEUED


def parse_jobs(text: str) -> tuple[SlurmJob, ...]:
    """All jobs, in the order of their numbers."""
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise SlurmError(f"squeue --json: what it printed is no JSON ({error})") from error
    if not isinstance(answer, dict) or not isinstance(answer.get("jobs"), list):
        raise SlurmError("squeue --json: expected an object with a list `jobs`")
    return tuple(sorted((_job(record) for record in answer["jobs"]), key=lambda job: job.job_id))


def _job(record: Any) -> SlurmJob:
    if not isinstance(record, dict) or not isinstance(record.get("job_id"), int):
        raise SlurmError("squeue --json: a job without the number `job_id`")
    read = _Reader(record)
    try:
        return SlurmJob(
            job_id=record["job_id"],
            name=read.text("name"),
            user=read.text("user_name") or str(record.get("user_id", "")),
            partition=read.text("partition"),
            state=_state(record.get("job_state")),
            reason=read.text("state_reason"),
            is_held=read.number("priority", none=1.0) == 0.0,
            comment=_comment(record),
            admin_comment=read.text("admin_comment") or _inside(record, "comment", "administrator"),
            submit_s=read.number("submit_time"),
            eligible_s=read.number("eligible_time"),
            start_s=read.number("start_time"),
            end_s=read.number("end_time"),
            limit_s=60.0 * read.number("time_limit", none=math.inf),
            restarts=int(read.number("restart_cnt")),
            nice=_nice(int(read.number("nice"))),
            nodes=expand(read.text("nodes")),
            required_nodes=expand(read.text("required_nodes")),
            excluded_nodes=expand(read.text("excluded_nodes")),
            wishes=_wishes(record, read),
            cpus=int(read.number("cpus")),
            tasks=max(1, int(read.number("tasks"))),
            node_count=int(read.number("node_count")),
            max_nodes=int(read.number("max_nodes")),
            tasks_per_node=int(read.number("tasks_per_node")),
            tres=parse_tres(read.text("tres_req_str")),
            memory_per_node=read.number("memory_per_cpu") == 0.0 and not read.text("memory_per_tres"),
            gres_per_node=read.text("tres_per_node"),
            gres_per_task=read.text("tres_per_task"),
            gres_per_job=read.text("tres_per_job"),
            gres_held=tuple(str(one) for one in record.get("gres_detail") or ()),
        )
    except SlurmError as error:
        raise SlurmError(f"squeue --json, job {record['job_id']}: {error}") from error


class _Reader:
    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = record

    def text(self, field: str) -> str:
        value = self._record.get(field)
        if value is None or isinstance(value, dict):
            return ""
        if not isinstance(value, str):
            raise SlurmError(f"field {field!r} is {value!r}; expected text")
        return value

    def number(self, field: str, none: float = 0.0) -> float:
        """`none`: what stands for no number."""
        value = self._record.get(field, _ABSENT)
        if value is _ABSENT:
            raise SlurmError(f"field {field!r} is missing")
        if isinstance(value, dict):
            if value.get("infinite"):
                return math.inf
            value = value.get("number") if value.get("set") else None
        if value is None:
            return none
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SlurmError(f"field {field!r} is {value!r}; expected a number")
        return float(value)


def _state(value: Any) -> str:
    """One word; while a job leaves its nodes, that is what counts."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise SlurmError(f"field 'job_state' is {value!r}; expected a word such as PENDING")
    return COMPLETING if COMPLETING in words else str(words[0])


def _comment(record: Mapping[str, Any]) -> str:
    value = record.get("comment")
    return value if isinstance(value, str) else _inside(record, "comment", "job")


def _inside(record: Mapping[str, Any], field: str, key: str) -> str:
    value = record.get(field)
    return str(value.get(key) or "") if isinstance(value, dict) else ""


def _nice(value: int) -> int:
    """Negative ones are printed as if they were unsigned."""
    return value - _NICE_RANGE if value >= _NICE_RANGE // 2 else value


def _wishes(record: Mapping[str, Any], read: _Reader) -> tuple[str, ...]:
    """Whatever limits where or when it may run, beyond resources."""
    found = []
    for field, words in (
        ("features", "asks for features"),
        ("resv_name", "is for a reservation"),
        ("licenses", "needs licenses"),
        ("burst_buffer", "needs a burst buffer"),
        ("tres_per_socket", "asks for GPUs by socket"),
        ("cpus_per_tres", "asks for processors by GPU"),
        ("network", "asks for a network"),
    ):
        if read.text(field):
            found.append(words)
    if read.text("array_task_string"):
        found.append("is a job array")
    if record.get("het_job_id") not in (None, 0) and _Reader(record).number("het_job_id"):
        found.append("is part of a heterogeneous job")
    if record.get("shared") not in (None, "", []):
        found.append("says whether it shares its nodes")
    if record.get("contiguous"):
        found.append("asks for contiguous nodes")
    if "," in read.text("partition"):
        found.append("names several partitions")
    dependency = read.text("dependency")
    if dependency:
        found.append("waits for another job")
    return tuple(found)
