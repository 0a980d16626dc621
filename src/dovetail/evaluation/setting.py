"""What every scheduler of a comparison meets, whatever the family: a workload, how its jobs arrive, and a cluster.

A `Setting` is small and goes to worker processes; each opens it once, which brings the workload into memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dovetail.core.seeds import SeedTree

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.records.run import Run


class Measured(NamedTuple):
    """What a run came to, in numbers."""

    metrics: Mapping[str, float]
    events: int
    decisions: int


class Setting(ABC):
    """Implemented by a frozen dataclass of each family; it must survive pickling."""

    FAMILY: ClassVar[str]
    INLINE_JOBS: ClassVar[int]  # simulated jobs below which starting processes takes longer than the work

    @abstractmethod
    def open(self) -> OpenSetting:
        """With its workload in memory."""


class OpenSetting(ABC):
    """A setting with its workload in memory.  Sequences, worlds and results are those of its family."""

    setting: Setting

    @property
    @abstractmethod
    def jobs(self) -> int:
        """Jobs in a sequence."""

    @property
    @abstractmethod
    def options(self) -> object:
        """The cluster, as manifests and JSON keep it: a dataclass of plain values."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The workload, as manifests and JSON describe it; `content` changes with the workload itself."""

    def notes(self) -> list[str]:
        """What the person who chose this workload should know."""
        return []

    @abstractmethod
    def sequence(self, seed: int) -> Any:
        """The job sequence of this seed."""

    @abstractmethod
    def check(self, seed: int) -> None:
        """Find now whatever would fail for every scheduler alike."""

    @abstractmethod
    def world(self, sequence: Any, seeds: SeedTree, *, record: bool = False) -> Any:
        """A world in which the sequence runs; with `record`, all that `record_run` needs is kept."""

    @abstractmethod
    def run(self, world: Any, scheduler: Any, rng: np.random.Generator) -> Any:
        """Run to the end, as fast as the scheduler allows, and return the result."""

    @abstractmethod
    def measure(self, result: Any) -> Measured:
        """The result in numbers."""

    @abstractmethod
    def record_run(self, result: Any, contender: Contender, seed: int) -> Run:
        """The result in full."""

    @abstractmethod
    def rehearse(self, scheduler: Any, ready: set[object]) -> None:
        """Call everything that compiles when it is first called; `ready` has what was compiled before."""
