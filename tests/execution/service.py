"""A small engine without executors: it keeps jobs in memory and ends them when a test says so."""

from __future__ import annotations

import pickle
import selectors
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dovetail.execution.addresses import TcpAddress
from dovetail.execution.control_hub import ControlHub
from dovetail.execution.control_sockets import ControlSockets
from dovetail.execution.errors import RequestRefused
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import EngineStatus, JobStatus, JobSummary, ResultsPart, StageStatus, TaskFailure


class FakeService:
    """Kept over a restart of the server around it, as the journal would be."""

    def __init__(self) -> None:
        self.specs: dict[int, JobSpec] = {}
        self.payloads: dict[int, bytes] = {}
        self.keys: dict[str, int] = {}
        self.states: dict[int, str] = {}
        self.failures: dict[int, tuple[TaskFailure, bytes]] = {}
        self.results_per_reply = 3
        self.calls: list[Any] = []
        self.is_down = False

    def submit(self, spec: JobSpec, payload: bytes, key: str) -> int:
        if key in self.keys:
            return self.keys[key]
        job = len(self.specs)
        self.specs[job], self.payloads[job], self.states[job] = spec, payload, "running"
        self.keys[key] = job
        return job

    def status(self) -> EngineStatus:
        jobs = tuple(JobSummary(job, spec.name, self.states[job], 0.0) for job, spec in self.specs.items())
        return EngineStatus("dag/fair", 4, 0, 1, False, 1.0, jobs)

    def job(self, job: int) -> JobStatus:
        if job not in self.specs:
            raise RequestRefused(f"no job has number {job}")
        stages = tuple(StageStatus(stage.name, stage.tasks) for stage in self.specs[job].stages)
        failure = self.failures[job][0] if job in self.failures else None
        return JobStatus(job, self.specs[job].name, self.states[job], 0.0, None, stages, failure)

    def results(self, job: int, stage: int, start: int, count: int) -> ResultsPart:
        if job in self.failures:
            return ResultsPart((False,), (self.failures[job][1],))
        count = min(count, self.results_per_reply)
        payloads = tuple(pickle.dumps((stage, task)) for task in range(start, start + count))
        return ResultsPart((True,) * count, payloads)

    def cancel(self, job: int) -> bool:
        self.job(job)
        self.states[job] = "cancelled"
        return True

    def drain(self, on: bool) -> None:
        self.calls.append(("drain", on))

    def swap(self, scheduler: str, then: Callable[[str | Exception], None]) -> None:
        raise ZeroDivisionError("a bug")

    def down(self) -> None:
        self.is_down = True

    def forget(self, job: int) -> None:
        self.calls.append(("forget", job))

    def events(self, since: int) -> Mapping[str, Any]:
        return {"events": [since]}


class FakeServer:
    """The service behind real sockets, in a thread with a loop like the engine's."""

    def __init__(self, service: FakeService, token: str = "") -> None:
        self.service = service
        self.hub = ControlHub(service, token)
        self.selector = selectors.DefaultSelector()
        self.sockets = ControlSockets(self.hub, self.selector)
        self.address: TcpAddress | None = None
        self._ended: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def end(self, job: int, state: str = "succeeded") -> None:
        self.service.states[job] = state
        self._ended.append(job)

    def _loop(self) -> None:
        while not self._stop.is_set():
            for key, mask in self.selector.select(0.005):
                key.data(mask, time.monotonic())
            while self._ended:
                self.hub.job_ended(self._ended.pop())
            if time.monotonic() >= self.hub.next_timer_s():
                self.hub.on_time(time.monotonic())
            self.sockets.flush()
        self.sockets.close()
        self.selector.close()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@contextmanager
def serving(service: FakeService, path: Path | None = None, token: str = "") -> Iterator[FakeServer]:
    """At a Unix socket, or at any free port of this machine."""
    server = FakeServer(service, token)
    if path is None:
        server.address = server.sockets.listen_tcp(TcpAddress("127.0.0.1", 0))
    else:
        server.sockets.listen_unix(path)
    server.start()
    try:
        yield server
    finally:
        server.stop()
