"""What the controller of a Slurm queue is told, and what it asks for.  Times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.nodes import SlurmNode
from dovetail.execution.engines.slurm.trace import MARKER


@dataclass(frozen=True)
class SlurmOptions:
    """`partition`: all jobs of it; None: those that carry the marker, in any partition."""

    partition: str | None = None
    marker: str = MARKER
    act: bool = False  # or only say what would be done
    lease_s: float = 120.0  # a job that nobody looks after any more is Slurm's after this
    patience_s: float = 120.0  # for a job to begin where it was told to
    nice: int | None = None  # niceness of jobs that may begin; None: as it is
    untyped: str = "V100"  # what GPUs are of which Slurm only knows the number

    def __post_init__(self) -> None:
        if not self.marker.isidentifier():
            raise ConfigError(f"--marker {self.marker!r}; expected one word of letters, such as dovetail")
        if self.partition is not None and (not self.partition or "," in self.partition):
            raise ConfigError(f"--partition {self.partition!r}; expected the name of one")
        for name, value, least in (("lease", self.lease_s, 10.0), ("patience", self.patience_s, 1.0)):
            if not least <= value <= 86_400.0:
                raise ConfigError(f"--{name} {value:g}; expected {least:g} to 86400 seconds")


class Observation(NamedTuple):
    """Slurm as it was seen: jobs first, then nodes, so that nothing that has begun meanwhile seems free."""

    now_s: float
    jobs: tuple[SlurmJob, ...]
    nodes: tuple[SlurmNode, ...]
    racks: Mapping[str, int]
    dead: frozenset[str]  # owners of traces that live no more


# --- instructions ---


class Lease(NamedTuple):
    """The job may not begin before then.  `clear`: nor is it tied to nodes any more.  `release`: lift its hold."""

    job: int
    until_s: float
    comment: str | None  # None: as it is
    clear: bool = False
    release: bool = False
    nice: int | None = None


class Tell(NamedTuple):
    """The job begins now, on these nodes, and not on those, which Slurm might add otherwise."""

    job: int
    nodes: tuple[str, ...]
    not_on: tuple[str, ...]
    comment: str
    nice: int | None = None


class LetGo(NamedTuple):
    """The job is Slurm's.  Whether it is held is not changed.  `clear`: it is not tied to nodes any more."""

    job: int
    comment: str
    clear: bool = False
    nice: int | None = None


class Retrace(NamedTuple):
    """Only our trace on the job changes."""

    job: int
    comment: str


@dataclass(frozen=True)
class Note:
    """Something to be said and recorded."""

    event: str  # one word, such as told, landed, back
    text: str
    job: int = -1
    facts: Mapping[str, Any] = field(default_factory=dict)


Act = Lease | Tell | LetGo | Retrace
Instruction = Act | Note
