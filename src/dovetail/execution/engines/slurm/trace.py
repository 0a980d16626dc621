"""Words on a job: what its user says to us in the comment, and the trace that we leave in the administrator's comment.

A user writes `--comment dovetail`, or `--comment dovetail:kind=resnet50,estimate_s=3600`, or calls the job
`dovetail-...`.  `dovetail` stands for the marker, which may be another word.

Our trace says who is responsible and how far things are.  It stands behind whatever else is there:

    [dovetail HOST/PID/TICKS queued]       a lease: it may not begin yet
    [dovetail HOST/PID/TICKS told nice=0]  nodes are set, and it may begin; the niceness is the one it had before
    [dovetail HOST/PID/TICKS taking]       the hold with which it was handed in is about to be lifted
    [dovetail HOST/PID/TICKS free]         Slurm's again; if it is held now, that is its user's doing
    [dovetail HOST/PID/TICKS back]         given back to Slurm for good
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from dovetail.execution.engines.slurm.jobs import SlurmJob

MARKER = "dovetail"
QUEUED, TOLD, TAKING, FREE, BACK = "queued", "told", "taking", "free", "back"
_TRACE = re.compile(r"\s*\[dovetail (\S+) (queued|told|taking|free|back)(?: nice=(-?\d+))?\]")


class Trace(NamedTuple):
    owner: str
    state: str
    nice: int = 0

    def __str__(self) -> str:
        nice = f" nice={self.nice}" if self.state == TOLD else ""
        return f"[dovetail {self.owner} {self.state}{nice}]"


def trace_of(job: SlurmJob) -> Trace | None:
    found = _TRACE.search(job.admin_comment)
    return None if found is None else Trace(found[1], found[2], int(found[3] or 0))


def traced(job: SlurmJob, trace: Trace) -> str:
    """The administrator's comment with this trace in place of any other."""
    return f"{_TRACE.sub('', job.admin_comment)} {trace}".lstrip()


def is_marked(job: SlurmJob, marker: str) -> bool:
    return job.comment == marker or job.comment.startswith(f"{marker}:") or job.name.startswith(f"{marker}-")


def parts(job: SlurmJob, marker: str) -> list[tuple[str, str, str]]:
    """What stands between the commas of a user's comment: (key, `=` or nothing, value)."""
    word, _, rest = job.comment.partition(":")
    if word != marker:
        return []
    found = (part.partition("=") for part in rest.split(","))
    return [(key.strip(), sign, value.strip()) for key, sign, value in found]


def said(job: SlurmJob, marker: str) -> dict[str, str]:
    """The settings in a user's comment; what is not key=value is no setting."""
    return {key: value for key, sign, value in parts(job, marker) if sign}


def this_owner(host: str) -> str:
    """This process, so that no later one with the same number is taken for it."""
    return f"{host}/{os.getpid()}/{_ticks(os.getpid())}"


def host_of(owner: str) -> str:
    return owner.rsplit("/", 2)[0]


def is_dead(owner: str, host: str) -> bool:
    """Only what ran on this host can be known to be dead."""
    where, _, rest = owner.rpartition("/")[0].rpartition("/")
    ticks = owner.rpartition("/")[2]
    return where == host and rest.isdecimal() and str(_ticks(int(rest))) != ticks


def _ticks(pid: int) -> int:
    """When a process started, in ticks since the machine did; 0 if there is none, or it is only waited for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])
