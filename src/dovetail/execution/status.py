"""What an engine tells about itself and its jobs: made by the server, sent as JSON, read by clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from dovetail.core.config import build, to_plain
from dovetail.core.errors import ConfigError
from dovetail.execution.errors import ProtocolError

State = Literal["running", "succeeded", "failed", "cancelled"]
"""A job is running from the moment it is accepted, even while no executor has come to it."""


class _Told:
    """Values that travel as JSON."""

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        try:
            return build(cls, values, f"{cls.__name__} from the engine")
        except ConfigError as error:
            raise ProtocolError(f"{error}; is the engine of another version?") from error


@dataclass(frozen=True)
class StageStatus(_Told):
    name: str
    tasks: int
    finished: int = 0
    running: int = 0
    failed: int = 0  # runs of tasks that raised, or took too long or too much
    lost: int = 0  # runs of tasks whose executor died under them


@dataclass(frozen=True)
class TaskFailure(_Told):
    """The failure that ended the job."""

    stage: int  # position in the job
    task: int
    message: str  # one line


@dataclass(frozen=True)
class JobStatus(_Told):
    job: int
    name: str
    state: State
    submitted_s: float  # seconds since 1970, as time.time()
    ended_s: float | None = None
    stages: tuple[StageStatus, ...] = ()
    failure: TaskFailure | None = None

    @property
    def has_ended(self) -> bool:
        return self.state != "running"


@dataclass(frozen=True)
class JobSummary(_Told):
    """A job as one line of a table."""

    job: int
    name: str
    state: State
    submitted_s: float
    ended_s: float | None = None
    tasks: int = 0
    finished: int = 0
    running: int = 0


@dataclass(frozen=True)
class OverheadStatus(_Told):
    """What the engine itself took, over the last of many occasions."""

    name: str
    count: int  # of all occasions
    p50_us: float
    p95_us: float


@dataclass(frozen=True)
class EngineStatus(_Told):
    scheduler: str
    executors: int  # alive
    busy: int
    nodes: int
    draining: bool
    up_s: float
    jobs: tuple[JobSummary, ...] = ()  # by job number
    trouble: str = ""  # why nothing new is started; empty: all is well
    overheads: tuple[OverheadStatus, ...] = ()


@dataclass(frozen=True)
class ResultsPart:
    """The first results of those asked for: as many as fit, at least one."""

    ok: tuple[bool, ...]
    payloads: tuple[bytes, ...]  # pickled results; of a failed task what its out file holds, or nothing
