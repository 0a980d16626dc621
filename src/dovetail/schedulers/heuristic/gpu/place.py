"""What a place is: it finds machines for all workers of a gang, at once or worker by worker by a score of machines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, GpuView, Place
from dovetail.schedulers.heuristic.gpu.room import Gang, Need, Room


class PlacePart(ABC):
    """A place, which says where a gang stands.

    One that `schedulers/kernels/gpu_queue` knows has a `CODE`, and what it needs to know in `numbers`.
    """

    @dataclass(frozen=True)
    class Params:
        """None."""

    WHY: ClassVar[Place]
    CODE: ClassVar[int] = -1
    TUNE: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def __init__(self, params: Any = None) -> None:
        self.params: Any = self.Params() if params is None else params

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self.info = info

    def numbers(self) -> tuple[float, ...]:
        """For the compiled twin: four at most."""
        return ()

    def key(self) -> int:
        """For the compiled twin: of its random numbers."""
        return 0

    def begin(self, view: GpuView) -> None:  # noqa: B027 - most places remember nothing
        """A new decision."""

    @abstractmethod
    def gang(self, room: Room, need: Need, job: int) -> Gang | None:
        """All workers, taken from the room; None, and nothing is taken, if they do not fit."""


class ScoringPlace(PlacePart):
    """One that looks at a worker at a time, given what the ones before it took.

    It goes to the machine with the largest score of those that fit; among equals, the first.
    """

    @abstractmethod
    def scores(self, room: Room, need: Need, job: int, worker: int) -> Floats:
        """(M,) of machines, for that worker of the job; those where it does not fit mean nothing."""

    def gang(self, room: Room, need: Need, job: int) -> Gang | None:
        before = room.copy() if need.workers > 1 else room
        machines: list[int] = []
        devices: list[list[int]] = []
        affinity = 0.0
        for worker in range(need.workers):
            fits = room.fits(need)
            if not fits.any():
                if machines:
                    room.become(before)
                return None
            scores = np.where(fits, self.scores(room, need, job, worker), -np.inf)
            best = int(scores.argmax())
            if worker == 0:
                affinity = float(scores[best])
            machines.append(best)
            devices.append(room.take(best, need))
        return Gang(machines, devices, affinity)
