"""Plays a replay to an engine: every job at its time, then waits for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable

from dovetail.execution.client import Client
from dovetail.execution.errors import RequestRefused
from dovetail.execution.replay import Replay
from dovetail.execution.status import JobStatus


def play(replay: Replay, client: Client, on_end: Callable[[JobStatus], None] = lambda status: None) -> list[JobStatus]:
    """The jobs as they ended, in the order of the workload.  The engine must have been started for this replay."""
    numbers: list[int] = []
    start_s = time.monotonic()
    for job, submit_s in enumerate(replay.submit_s):
        spec, payload = replay.spec(job), replay.payload(job)  # before its time has come, not when it has
        time.sleep(max(0.0, start_s + submit_s - time.monotonic()))
        numbers.append(client.submit(spec, payload))
        if numbers[job] != numbers[0] + job:
            # Durations are looked up by the place of the job, which somebody else's job has shifted.
            raise RequestRefused(f"job {numbers[job]} came between; expected an engine that nobody else submits to")
    ended = []
    for number in numbers:
        ended.append(client.wait(number))
        on_end(ended[-1])
    return ended
