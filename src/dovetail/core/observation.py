"""What a world may tell a scheduler besides views: measurements that no view can show.

A world that can measure more than the state of the work, such as a live engine with a clock, offers it to every
scheduler that is an `Observer`.  Schedulers must do without: the simulator has nothing of the kind to tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Observation:
    """Measured since the last one; None: not measured."""

    scheduling_overhead_s: float | None = None  # mean time from a slot becoming free to the task starting on it
    utilisation: float | None = None  # share of the executors' time spent on tasks
    tasks_per_s: float | None = None
    abandoned: tuple[int, ...] = ()  # ids of jobs that will be gone from the next view without being complete


@runtime_checkable
class Retreats(Protocol):
    """A scheduler made of others, that can do without the one whose decision was refused."""

    def retreat(self, view: Any, why: str) -> bool:
        """Whether it is worth asking again about the same view."""
        ...


@runtime_checkable
class Observer(Protocol):
    """A scheduler that wants to know."""

    def observe(self, observation: Observation) -> None: ...
