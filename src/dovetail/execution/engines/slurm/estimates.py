"""How long a job of Slurm will take: what jobs of that user and name took, what its user says, or its time limit."""

from __future__ import annotations

import math
import re
from collections import deque
from statistics import median
from typing import NamedTuple

from dovetail.execution.engines.slurm.jobs import COMPLETED, SlurmJob
from dovetail.execution.engines.slurm.trace import said

REMEMBERED = 20  # of the same user and name
NO_LIMIT_S = 86_400.0  # where nothing at all is known
LEAST_LEFT = 0.1  # of an estimate: a job that should have ended long ago may end any time
_COMPLETION = re.compile(
    r"JobId=\d+ UserId=([^(]*)\(\d+\) GroupId=\S* Name=(.*?) JobState=(\w+) .*?StartTime=(\S+) EndTime=(\S+)"
)
COMPLETION_FORM = "JobId=N UserId=USER(N) GroupId=... Name=... JobState=... StartTime=... EndTime=..."


class Completions(NamedTuple):
    """What was found in the file of `jobcomp/filetxt`."""

    known: int  # completed jobs that say how long they took
    jobs: int  # lines that are about a job
    odd: int  # lines that are not
    odd_line: int  # the first of those, from 1 on; 0: none
    odd_text: str  # what it begins with


class Estimates:
    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._took: dict[tuple[str, str], deque[float]] = {}

    def learn(self, job: SlurmJob) -> None:
        """Only what was completed says how long such a job takes."""
        if job.state == COMPLETED and job.end_s > job.start_s > 0:
            self.remember(job.user, job.name, job.end_s - job.start_s)

    def remember(self, user: str, name: str, took_s: float) -> None:
        self._took.setdefault((user, name), deque(maxlen=REMEMBERED)).append(took_s)

    def read_sacct(self, text: str) -> int:
        """Lines of seconds|user|name; how many were understood.  Names may hold anything, so they come last."""
        known = 0
        for line in text.splitlines():
            took, _, rest = line.partition("|")
            user, sign, name = rest.partition("|")
            if sign and took.isdecimal() and int(took) > 0:
                self.remember(user, name, float(took))
                known += 1
        return known

    def read_completions(self, text: str) -> Completions:
        """The file of `jobcomp/filetxt`."""
        known = jobs = odd = odd_line = 0
        odd_text = ""
        for number, line in enumerate(text.split("\n"), 1):
            match = _COMPLETION.match(line)
            if match is None:
                if line.strip():
                    odd += 1
                    odd_line, odd_text = (odd_line, odd_text) if odd_line else (number, line.strip()[:60])
                continue
            jobs += 1
            took_s = _seconds(match[5]) - _seconds(match[4])
            if match[3] == COMPLETED and took_s > 0:
                self.remember(match[1], match[2], took_s)
                known += 1
        return Completions(known, jobs, odd, odd_line, odd_text)

    def of(self, job: SlurmJob) -> float:
        """Seconds in all, never above the limit, after which Slurm would end it."""
        took = self._took.get((job.user, job.name))
        if took:
            return min(median(took), job.limit_s)
        stated = positive(said(job, self._marker).get("estimate_s", ""))
        if stated is not None:
            return min(stated, job.limit_s)
        return job.limit_s if math.isfinite(job.limit_s) else NO_LIMIT_S

    def left(self, job: SlurmJob, now_s: float) -> float:
        """Of a running job."""
        estimate_s = self.of(job)
        return max(estimate_s - max(0.0, now_s - job.start_s), LEAST_LEFT * estimate_s)


def positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value > 0 and math.isfinite(value) else None


def _seconds(text: str) -> float:
    """Of a time such as 2026-11-18T01:48:15; only differences count, so no time zone is needed."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return math.nan
