"""Errors of work that is really run.  All of them survive pickling: `args` are the constructor's arguments."""

from __future__ import annotations

from dovetail.core.errors import DovetailError


class InvalidJob(DovetailError):
    """A job that cannot be accepted as it is: its graph, its sizes, its functions or its arguments."""


class EngineUnreachable(DovetailError):
    """Nobody answers at the address, or not any more."""


class ProtocolError(DovetailError):
    """What came over a control socket is not the protocol; the connection cannot be used any further."""


class RequestRefused(DovetailError):
    """The engine understood the request and declined it, or failed at it."""


class WaitTimeout(DovetailError, TimeoutError):
    """The job had not ended when the time to wait for it was over.  It goes on."""


class JobCancelled(DovetailError):
    """The job was cancelled before it was complete."""

    def __init__(self, job: int, name: str) -> None:
        self.job = job
        self.name = name
        super().__init__(job, name)

    def __str__(self) -> str:
        return f"job {self.job} ({self.name!r}) was cancelled"


class JobFailed(DovetailError):
    """A task failed more often than it may be retried.  `__cause__` is its exception, if that could be brought back."""

    def __init__(self, job: int, name: str, stage: str, task: int, message: str, traceback: str = "") -> None:
        self.job = job
        self.name = name
        self.stage = stage
        self.task = task
        self.message = message
        self.traceback = traceback  # as text, from where the task ran; empty if it left none
        super().__init__(job, name, stage, task, message, traceback)

    def __str__(self) -> str:
        where = f"job {self.job} ({self.name!r}) failed: stage {self.stage!r}, task {self.task}: {self.message}"
        return f"{where}\n\nwhere the task ran:\n{self.traceback.rstrip()}" if self.traceback else where
