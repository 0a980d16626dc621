"""A submitted job, from the side of the one who submitted it."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

from dovetail.core.errors import DovetailError, UnknownName
from dovetail.execution.client import Client
from dovetail.execution.errors import InvalidJob, JobCancelled, JobFailed, ProtocolError, WaitTimeout
from dovetail.execution.failure import Failure
from dovetail.execution.job import Job, Stage
from dovetail.execution.status import JobStatus

_ASKED_AT_ONCE = 100_000  # results in one request; the engine sends fewer if they are large


class JobHandle:
    """`wait`, then `results`.  It holds no connection of its own, and may be made anew from the number of the job."""

    def __init__(self, client: Client, job: int) -> None:
        self.job = job
        self._client = client

    def __repr__(self) -> str:
        return f"JobHandle(job={self.job})"

    def status(self) -> JobStatus:
        return self._client.job(self.job)

    def cancel(self) -> None:
        self._client.cancel(self.job)

    def forget(self) -> None:
        """Delete what the engine keeps of the job, its results too."""
        self._client.forget(self.job)

    def wait(self, timeout_s: float | None = None) -> JobStatus:
        """Until the job is complete.  Raises `JobFailed`, `JobCancelled`, or `WaitTimeout`."""
        status = self._client.wait(self.job, timeout_s)
        if not status.has_ended:
            raise WaitTimeout(f"job {self.job} ({status.name!r}) has not ended after {timeout_s:g} s")
        if status.state == "cancelled":
            raise JobCancelled(self.job, status.name)
        if status.state == "failed":
            self._raise_failure(status)
        return status

    def results(self, stage: Stage | str | int, timeout_s: float | None = None) -> list[Any]:
        """What the tasks of the stage returned, in their order; waits for the job first."""
        return list(self.iterate(stage, timeout_s))

    def iterate(self, stage: Stage | str | int, timeout_s: float | None = None) -> Iterator[Any]:
        """The same one by one, so that not all of them have to fit into memory."""
        status = self.wait(timeout_s)
        position = _position(status, stage)
        name, tasks = status.stages[position].name, status.stages[position].tasks
        at = 0
        while at < tasks:
            part = self._client.results(self.job, position, at, min(tasks - at, _ASKED_AT_ONCE))
            for ok, payload in zip(part.ok, part.payloads, strict=True):
                if not ok:
                    raise ProtocolError(
                        f"job {self.job}: stage {name!r}, task {at} has no result, but the job succeeded"
                    )
                yield _unpickle(payload, f"job {self.job}: stage {name!r}, task {at}")
                at += 1

    def _raise_failure(self, status: JobStatus) -> None:
        if status.failure is None:
            raise ProtocolError(f"job {self.job} ({status.name!r}) failed, but the engine does not say where")
        found, stage, task = status.failure, status.stages[status.failure.stage].name, status.failure.task
        failure = self._recorded_failure(found.stage, task)
        if failure is None:  # the executor died, so there is nothing but what the engine knows
            raise JobFailed(self.job, status.name, stage, task, found.message)
        raise JobFailed(self.job, status.name, stage, task, failure.line, failure.traceback) from failure.exception()

    def _recorded_failure(self, stage: int, task: int) -> Failure | None:
        # What it adds to the engine's message is not worth another error in its place.
        with contextlib.suppress(DovetailError):
            part = self._client.results(self.job, stage, task, 1)
            if not part.ok[0] and part.payloads[0]:
                return Failure.from_bytes(part.payloads[0])
        return None


def submit(client: Client, job: Job) -> JobHandle:
    """Pickle the job and hand it over."""
    if not isinstance(job, Job):
        raise InvalidJob(f"a job is {job!r:.60}; expected a dovetail.execution.Job")
    spec = job.spec()  # first, because it is checked in no time
    return JobHandle(client, client.submit(spec, job.payload()))


def _position(status: JobStatus, stage: Stage | str | int) -> int:
    names = [one.name for one in status.stages]
    name = stage.name if isinstance(stage, Stage) else stage
    if isinstance(name, str):
        if name not in names:
            raise UnknownName("stage", name, names)
        return names.index(name)
    if not 0 <= name < len(names):
        raise UnknownName("stage", str(name), [str(at) for at in range(len(names))])
    return name


def _unpickle(payload: bytes, what: str) -> Any:
    try:
        return pickle.loads(payload)
    except Exception as error:  # a class that cannot be imported here, and whatever __setstate__ raises
        raise DovetailError(
            f"{what}: its result cannot be unpickled here: {type(error).__name__}: {error}; "
            "expected the modules of the task to be importable by who asks for results"
        ) from error
