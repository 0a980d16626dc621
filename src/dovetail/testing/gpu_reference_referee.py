"""What is free in the plain-Python gpu world, who fits, and whether an answer may be carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision, Place, Reason
from dovetail.testing.gpu_reference_state import SLACK, Job, Machine, Worker


class Free:
    """What each machine has left beside the running jobs; machines that are down have nothing."""

    def __init__(self, machines: Sequence[Machine], running: Sequence[Job]) -> None:
        self.machines = machines
        self.cpus = [machine.cpus if machine.up else 0.0 for machine in machines]
        self.memory = [machine.memory if machine.up else 0.0 for machine in machines]
        self.devices = [[1.0 if machine.up else 0.0] * machine.gpus for machine in machines]
        for job in running:
            for worker in job.placed:
                self.take(job, worker)

    def take(self, job: Job, worker: Worker) -> None:
        self._change(job, worker, -1)

    def give_back(self, job: Job) -> None:
        for worker in job.placed:
            self._change(job, worker, 1)

    def _change(self, job: Job, worker: Worker, sign: int) -> None:
        self.cpus[worker.machine] += sign * job.cpus
        self.memory[worker.machine] += sign * job.memory
        for device in worker.devices:
            self.devices[worker.machine][device] += sign * min(job.gpus, 1.0)

    def whole(self, number: int) -> list[int]:
        return [device for device, free in enumerate(self.devices[number]) if free >= 1 - SLACK]

    def find(self, job: Job, number: int, model: SpeedModel) -> Worker | None:
        """Where a worker of the job would stand on that machine, None if it does not fit."""
        machine = self.machines[number]
        allowed = job.types == -1 or job.types >> machine.type & 1
        if not (machine.up and allowed and model.speed[job.kind, machine.type] > 0):
            return None
        if self.cpus[number] + SLACK < job.cpus or self.memory[number] + SLACK < job.memory:
            return None
        if job.gpus == 0:
            return Worker(number, ())
        if job.gpus >= 1:
            whole = self.whole(number)
            return Worker(number, tuple(whole[: int(job.gpus)])) if len(whole) >= job.gpus else None
        best = None
        for device, free in enumerate(self.devices[number]):
            if free + SLACK >= job.gpus and (best is None or free < self.devices[number][best] - SLACK):
                best = device
        return None if best is None else Worker(number, (best,))


@dataclass(frozen=True)
class Order:
    """A decision that may be carried out: a job and where its workers stand, none of them where it is stopped."""

    job: Job
    placed: list[Worker]


@dataclass(frozen=True)
class Referee:
    """Knows the rules.  `waiting` and `running` are those of the view; `stalled`: starting nothing would be the end."""

    model: SpeedModel
    waiting: list[Job]
    running: list[Job]
    free: Free
    may_stop: bool
    stalled: bool

    def check(self, decisions: Sequence[GpuDecision]) -> list[Order]:
        """What is to be done, or `InvalidDecision`; `free` is then of no more use."""
        if not isinstance(decisions, Sequence):
            refuse(f"expected a sequence of GpuDecision, not {decisions!r}")
        orders: list[Order] = []
        for decision in decisions:
            if not (isinstance(decision, tuple) and len(decision) == len(GpuDecision._fields)):
                refuse(f"expected a GpuDecision, not {decision!r}")
            for whole in (decision.job, decision.reason, decision.place):
                if not isinstance(whole, int | np.integer) or isinstance(whole, bool):
                    refuse(f"expected whole numbers, not {whole!r}")
            if not (0 <= decision.reason < len(Reason) and 0 <= decision.place < len(Place)):
                refuse("unknown reason")
            order = self._stop(decision) if decision.stops else self._start(decision)
            if any(order.job is other.job for other in orders):
                refuse("named twice")
            orders.append(order)
        if self.stalled and not orders:
            refuse("stalled")
        return orders

    def _stop(self, decision: GpuDecision) -> Order:
        if not self.may_stop:
            refuse("nothing may be stopped now")
        if not 0 <= decision.job < len(self.running) or len(decision.machines):
            refuse("no such run, or machines for a stop")
        self.free.give_back(self.running[decision.job])
        return Order(self.running[decision.job], [])

    def _start(self, decision: GpuDecision) -> Order:
        numbers = np.asarray(decision.machines)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            refuse("machines are whole numbers")
        if not 0 <= decision.job < len(self.waiting):
            refuse("no such job")
        job = self.waiting[decision.job]
        if len(numbers) != job.workers:
            refuse("a machine for each worker")
        placed: list[Worker] = []
        for number in numbers.tolist():
            worker = self.free.find(job, number, self.model) if 0 <= number < len(self.free.machines) else None
            if worker is None:
                refuse(f"a worker does not fit machine {number}")
            self.free.take(job, worker)
            placed.append(worker)
        return Order(job, placed)


def refuse(text: str) -> NoReturn:
    raise InvalidDecision(text)
