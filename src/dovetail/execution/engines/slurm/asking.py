"""Asking a scheduler, and holding it to the rules: nothing of an answer that breaks one is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, Ints
from dovetail.core.protocols import Scheduler
from dovetail.execution.engines.slurm.cluster import Cluster
from dovetail.execution.engines.slurm.estimates import Estimates
from dovetail.execution.engines.slurm.room import Room
from dovetail.execution.engines.slurm.view import Numbers, Running, Waiting, view_of

GpuScheduler = Scheduler[GpuInfo, GpuView, GpuDecision]


@dataclass(frozen=True)
class Start:
    waiting: Waiting
    machines: tuple[int, ...]  # of each worker
    decision: GpuDecision


class Asking:
    """One round of questions at one moment.  `room` is what is free, and becomes less."""

    def __init__(
        self,
        scheduler: GpuScheduler,
        cluster: Cluster,
        room: Room,
        running: Sequence[Running],
        now_s: float,
        numbers: Numbers,
        estimates: Estimates,
    ) -> None:
        self._scheduler = scheduler
        self._cluster = cluster
        self._room = room
        self._running = running
        self._now_s = now_s
        self._numbers = numbers
        self._estimates = estimates

    def fitting(self, waiting: Sequence[Waiting], closed: Ints) -> list[Waiting]:
        """Those that would fit now."""
        room = self._open(closed)
        return [one for one in waiting if room.fits(one.shape)]

    def starts(self, waiting: Sequence[Waiting], closed: Ints) -> list[Start]:
        """Who begins where; `closed` are machines where none of these may go.

        A scheduler may put two workers on one machine.  Where a job wants them on different nodes, it is asked again,
        for this job alone and a node at a time; and then again for the rest, since less is free than it thought.
        """
        found: list[Start] = []
        left = list(waiting)
        while left:
            room = self._open(closed)
            answer = self._ask(left, room)
            plain, doubled = self._check(answer, left, room)
            for start in plain:
                self._take(start)
            found += plain
            if doubled is None:
                return found
            spread = self._spread(left[doubled.job], closed, doubled)
            if spread is not None:
                self._take(spread)
                found.append(spread)
            done = {start.waiting.job.job_id for start in plain} | {left[doubled.job].job.job_id}
            left = [one for one in left if one.job.job_id not in done]
        return found

    def _open(self, closed: Ints) -> Room:
        room = self._room.copy()
        room.close(closed)
        return room

    def _ask(self, waiting: Sequence[Waiting], room: Room) -> Sequence[GpuDecision]:
        if not waiting:
            return ()
        view = view_of(self._cluster, room, waiting, self._running, self._now_s, self._numbers, self._estimates)
        return self._scheduler.decide(view)

    def _check(
        self, answer: Sequence[GpuDecision], waiting: Sequence[Waiting], room: Room
    ) -> tuple[list[Start], GpuDecision | None]:
        """What can be done as it stands, and the first decision that stands in the way of the rest."""
        starts: list[Start] = []
        named: set[int] = set()
        for decision in answer:
            if decision.stops:
                raise InvalidDecision(f"stops run index {decision.job}, but jobs of Slurm's are never stopped")
            if not 0 <= decision.job < len(waiting) or decision.job in named:
                raise InvalidDecision(f"starts job index {decision.job}; expected one of {len(waiting)}, each once")
            named.add(decision.job)
            one = waiting[decision.job]
            machines = tuple(int(machine) for machine in decision.machines)
            self._check_one(one, machines)
            if one.shape.spread and len(set(machines)) < len(machines):
                return starts, decision
            for machine in machines:
                if not room.take(one.shape, machine):
                    raise InvalidDecision(
                        f"job {one.job.job_id} on {self._cluster.info.machine_name[machine]}: a worker needs "
                        f"{one.shape.gpus:g} GPUs, {one.shape.cpus:g} processors and {one.shape.memory:g} GB; "
                        f"free are {room.devices[machine].tolist()}, {room.cpus[machine]:g}, {room.memory[machine]:g}"
                    )
            starts.append(Start(one, machines, decision))
        return starts, None

    def _check_one(self, one: Waiting, machines: tuple[int, ...]) -> None:
        many = len(self._cluster.info.machine_name)
        if len(machines) != one.shape.workers:
            raise InvalidDecision(f"job {one.job.job_id}: {len(machines)} machines for its {one.shape.workers} workers")
        for machine in machines:
            if not 0 <= machine < many:
                raise InvalidDecision(f"job {one.job.job_id}: there is no machine {machine}; expected 0 to {many - 1}")

    def _spread(self, one: Waiting, closed: Ints, first: GpuDecision) -> Start | None:
        """A node at a time; None if the scheduler does not find enough of them."""
        room = self._open(closed)
        single = one._replace(shape=one.shape._replace(workers=1, spread=False))
        machines: list[int] = []
        for _ in range(one.shape.workers):
            answer = self._ask([single], room)
            starts, _ = self._check(answer, [single], room.copy())
            if not starts:
                return None
            machines += starts[0].machines
            room.close(np.array(machines, np.int64))
        return Start(one, tuple(machines), first)

    def _take(self, start: Start) -> None:
        for machine in start.machines:
            self._room.take(start.waiting.shape._replace(workers=1), machine)
