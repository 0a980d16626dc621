"""A server in the test's own process, so that tests can look into it and step it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dovetail.execution import Job
from dovetail.execution.controller.controller import Controller
from dovetail.execution.controller.tape import TapeWriter
from dovetail.execution.engines.local import LocalWorkers
from dovetail.execution.engines.local_options import LocalOptions
from dovetail.execution.journal import Journal
from dovetail.execution.payload import Payload
from dovetail.execution.serve import ServerOptions, make_controller, prepare
from dovetail.execution.server import Server
from dovetail.execution.service import ServerService
from dovetail.records.beliefs import BeliefsFile

PATIENCE_S = 120.0


@contextmanager
def server_in(
    directory: Path,
    executors: int = 2,
    journal: Journal | None = None,
    tape: TapeWriter | None = None,
    change: Callable[[Controller], None] = lambda controller: None,
    beliefs: Path | None = None,
    **options: Any,
) -> Iterator[Server]:
    prepare(directory)
    workers = LocalWorkers(directory, LocalOptions(executors))
    controller = make_controller(ServerOptions(**options), workers.classes())
    change(controller)
    journal = journal or Journal.open(directory / "journal.sqlite")
    file = None if beliefs is None else BeliefsFile(beliefs)
    server = Server(directory, controller, workers, journal, tape=tape, beliefs=file)
    try:
        server.start()
        yield server
    finally:
        server.close()


def submit(server: Server, job: Job) -> int:
    return server.submit(job.spec(), Payload.from_bytes(job.payload()).write)


def step_until(server: Server, condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S

    def wake() -> None:
        server.at(0.02, wake)

    wake()
    while not condition():
        assert time.monotonic() < deadline_s, f"waited too long for: {what}"
        server.step()


def finish(server: Server, *jobs: int) -> None:
    step_until(server, lambda: all(server.jobs[job].has_ended for job in jobs), "jobs to end")
    server.save()


def results(server: Server, job: int, stage: int = 0) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < server.jobs[job].spec.stages[stage].tasks:
        found.extend(ServerService(server).results(job, stage, len(found), 10**6).payloads)
    return found
