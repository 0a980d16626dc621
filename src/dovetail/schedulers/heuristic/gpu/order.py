"""What an order is: it says which waiting job is taken next, and what becomes of those that do not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView, Ints, Reason
from dovetail.schedulers.heuristic.gpu.room import Gang, Room
from dovetail.schedulers.kernels.gpu_codes import LEAST_GPUS


class Candidates(NamedTuple):
    """What may be taken: waiting jobs, each on the types of its mask.  A job may be there more than once."""

    job: Ints  # (C,)
    types: Ints  # (C,) -1: those of the job


class OrderPart(ABC):
    """An order.  The candidate with the smallest key is taken; among equals, the first.

    One that `schedulers/kernels/gpu_queue` knows has a `CODE`, and what it needs to know in `numbers`.
    """

    @dataclass(frozen=True)
    class Params:
        """None."""

    REASON: ClassVar[Reason]
    CODE: ClassVar[int] = -1
    DYNAMIC: ClassVar[bool] = False  # keys change as jobs are placed; they only grow
    WANTS_RUNNING: ClassVar[bool] = False
    VETOES: ClassVar[bool] = False  # `allows` may say no
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

    def begin(self, view: GpuView, room: Room) -> Candidates:
        jobs = np.arange(len(view.job_id))
        return Candidates(jobs, np.full(len(jobs), -1, np.int64))

    @abstractmethod
    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        """(C,) inf: it is not to be taken now."""

    def blocked(self, view: GpuView, room: Room, job: int) -> bool:
        """The job does not fit.  True: nobody else may start either."""
        return False

    def allows(self, view: GpuView, room: Room, job: int, gang: Gang) -> bool:
        """Whether the job may start in that place, which `room` has given it already."""
        return True

    def started(self, view: GpuView, job: int) -> None:  # noqa: B027 - most orders remember nothing
        """The job starts."""

    def reason(self, job: int) -> Reason:
        return self.REASON


class PreemptiveOrder(OrderPart):
    """One in which running jobs have keys as well, and those with larger ones may be stopped for others."""

    @abstractmethod
    def run_keys(self, view: GpuView) -> Floats:
        """(R,) of running jobs, beside those of waiting ones."""

    def waiting_keys(self, view: GpuView, room: Room, jobs: Ints) -> Floats:
        """(n,) of waiting jobs as a whole, beside those of running ones."""
        return self.keys(view, room, Candidates(jobs, np.full(len(jobs), -1, np.int64)))

    def may_stop(self, view: GpuView) -> Bools:
        """(R,) which of them may be stopped at all."""
        return np.ones(len(view.run_id), np.bool_)


def gpu_time(left_s: Floats, workers: Ints, gpus: Floats) -> Floats:
    """GPU-seconds left; a worker that needs next to no GPU counts as `LEAST_GPUS`."""
    area: Floats = left_s * (workers * np.maximum(gpus, LEAST_GPUS))
    return area
