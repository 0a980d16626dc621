"""What tests of real workers and servers share."""

from __future__ import annotations

import os
import time
from typing import Any

from dovetail.execution.elastic.coordinator import Coordinator
from dovetail.execution.elastic.drive import one_slot, wait_until
from dovetail.execution.elastic.live_run import Yardstick
from dovetail.execution.elastic.snapshot import Snapshot
from dovetail.execution.elastic.training_job import TrainingJob


class Trained:
    """A job with its coordinator, and its loss so far."""

    def __init__(self, fleet: Any, job: TrainingJob) -> None:
        self.fleet = fleet
        self.job = job
        self.coordinator = Coordinator(job, Snapshot.first(job), fleet)
        self._yardstick = Yardstick(job)

    @property
    def loss(self) -> float:
        return self._yardstick.loss(self.coordinator.snapshot)

    def slot(self, workers: int, servers: int, slot_s: float, kill: str = "") -> None:
        """A slot of training, in the middle of which a worker or a server may be killed."""

        def meanwhile() -> None:
            if kill:
                self.kill(self.coordinator.worker_roles[0] if kill == "worker" else self.coordinator.server_roles[0])

        one_slot(self.fleet, self.coordinator, workers, servers, slot_s, meanwhile)

    def kill(self, role: int) -> None:
        os.kill(self.fleet.pid(role), 9)

    def change(self, workers: int, servers: int) -> Snapshot:
        """Other numbers of workers and servers, without training; what the servers have then."""
        self.coordinator.stand([0] * workers, [0] * servers, time.monotonic())
        wait_until(self.fleet, self.coordinator, lambda: self.coordinator.is_standing)
        self.coordinator.train(time.monotonic(), 0.0)  # the time for it is over already
        self.coordinator.halt(time.monotonic())
        wait_until(self.fleet, self.coordinator, lambda: self.coordinator.is_halted)
        return self.coordinator.snapshot


def same_bits(one: Snapshot, other: Snapshot) -> bool:
    return (
        one.parameters.tobytes() == other.parameters.tobytes()
        and one.velocity.tobytes() == other.velocity.tobytes()
        and one.done.tolist() == other.done.tolist()
        and one.version == other.version
    )


def is_alive(pid: int) -> bool:
    """Zombies do not count."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
