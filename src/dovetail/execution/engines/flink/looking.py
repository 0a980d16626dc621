"""Looks at one job: everything that Flink says of it at a time."""

from __future__ import annotations

import math
import time

from dovetail.core.stream import DAY_S, WEEK_S
from dovetail.execution.engines.flink.client import FlinkClient
from dovetail.execution.engines.flink.job import RUNNING, FlinkJob
from dovetail.execution.engines.flink.messages import Look


class Looking:
    def __init__(self, client: FlinkClient, job_id: str) -> None:
        self._client, self._job_id = client, job_id
        self._running_since: dict[float, float] = {}  # of the newest graph
        self._young = 0  # looks at that graph

    def look(self, *, with_rescale: bool) -> Look:
        """`with_rescale`: what Flink's history says of the newest rescale, too."""
        job = self._client.job(self._job_id)
        cluster = self._client.cluster()
        running_s = self._running_since_s(job)
        if self._young < STEADY:  # metrics appear one after the other while a job starts
            self._client.forget_names()
        self._young += 1
        return Look(
            now_s=time.time(),
            clock_s=clock_s(),
            job=job,
            readings=self._client.readings(job) if job.state == RUNNING else {},
            slots=cluster.slots,
            free_slots=cluster.free_slots,
            running_since_s=running_s,
            rescale=self._client.newest_rescale(self._job_id) if with_rescale else None,
        )

    def _running_since_s(self, job: FlinkJob) -> float:
        if job.state != RUNNING:
            return math.nan
        if job.created_ms not in self._running_since:
            since_ms = self._client.running_since_ms(job)
            if math.isnan(since_ms):
                return math.nan
            self._running_since, self._young = {job.created_ms: since_ms / 1000.0}, 0
        return self._running_since[job.created_ms]


STEADY = 3  # looks after which all metrics of a graph are there


def clock_s() -> float:
    """Seconds since Monday, 0:00, by the clock on the wall here."""
    now = time.localtime()
    return (now.tm_wday * DAY_S + now.tm_hour * 3600.0 + now.tm_min * 60.0 + now.tm_sec) % WEEK_S
