"""Looks at a job without deciding anything, and measures what a rescale costs if that is asked for."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dovetail.core.stream import StreamInfo
from dovetail.execution.engines.flink.client import FlinkClient
from dovetail.execution.engines.flink.downtime import Downtime, is_down
from dovetail.execution.engines.flink.errors import FlinkError, FlinkUnreachable
from dovetail.execution.engines.flink.job import OVER, FlinkJob
from dovetail.execution.engines.flink.looking import Looking
from dovetail.execution.engines.flink.messages import FlinkOptions, Look
from dovetail.execution.engines.flink.snapshot import Snapshot, measure
from dovetail.execution.engines.flink.view import RESTART_S, info_of, limits

POLL_S = 0.2


class Watch:
    def __init__(self, client: FlinkClient, job: FlinkJob, options: FlinkOptions) -> None:
        self._client, self._options = client, options
        self._looking = Looking(client, job.job_id)
        self.rows: list[Snapshot] = []
        self.stops_s: list[float] = []
        self.info: StreamInfo | None = None
        self.newest: Look

    def run(self, lasts_s: float, rescales: int = 0) -> None:
        """So long, or until the job ends; rescales come first, and do not count."""
        first = self._looking.look(with_rescale=True)
        if first.rescale is not None and first.rescale.cause != INITIAL and first.running_since_s > 0.0:
            lasted_s = first.running_since_s - first.rescale.stopped_ms / 1000.0
            if 0.0 < lasted_s < 600.0:
                self.stops_s.append(lasted_s)
        self.newest = first
        self.info = info_of(first, *limits(first.job, ()), self._options, RESTART_S)
        for _ in range(rescales):
            self._there_and_back()
        downtime, last = Downtime(self.newest), self.newest
        until_s = time.monotonic() + lasts_s
        while time.monotonic() < until_s:
            time.sleep(max(0.0, min(self._options.snapshot_s, until_s - time.monotonic())))
            try:
                look = self._looking.look(with_rescale=True)
            except FlinkUnreachable:
                continue
            if look.job.state in OVER:
                return
            down_s, stop = downtime.since(look, float("nan"))
            if stop is not None:
                self.stops_s.append(stop.lasted_s)
            self.rows.append(measure(last, look, down_s, self.rows[-1] if self.rows else None, "queues"))
            self.newest = last = look

    def _there_and_back(self) -> None:
        """One operator more, or fewer, and as it was again: both are stops that count."""
        now = np.array([one.parallelism for one in self.newest.job.vertices])
        assert self.info is not None
        choices = [(int(room), i) for i, room in enumerate((self.info.operator_max - now).tolist())]
        room, chosen = max(choices)
        change = 1 if room > 0 else -1
        if now[chosen] + change < 1:
            raise FlinkError("there is no slot for another instance, so a rescale cannot be measured")
        other = now.copy()
        other[chosen] += change
        self._rescale(other)
        self._rescale(now)

    def _rescale(self, wanted: Any) -> None:
        job = self.newest.job
        asked_s, downtime = time.time(), Downtime(self.newest)
        self._client.ask(job.job_id, {one.vertex_id: int(many) for one, many in zip(job.vertices, wanted, strict=True)})
        give_up_s = time.monotonic() + self._options.patience_s
        while time.monotonic() < give_up_s:
            time.sleep(POLL_S)
            look = self._looking.look(with_rescale=True)
            _, stop = downtime.since(look, asked_s)
            if stop is not None and not is_down(look):
                self.stops_s.append(stop.lasted_s)
                self.newest = look
                return
        raise FlinkError(f"the job was not rescaled within {self._options.patience_s:g} s")


INITIAL = "INITIAL_SCHEDULE"
