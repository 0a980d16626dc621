"""Who trains which chunk next: a chunk belongs to one worker at a time, for a part of a second."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Ints
from dovetail.execution.elastic.training_job import TrainingJob

LEASE_S = 0.2
FIRST_BATCHES = 4  # of the first lease, when it is not known how long a mini-batch takes


class Leases:
    """`done` is what the parameter servers are known to have applied; they know better, see `Trainer`."""

    def __init__(self, job: TrainingJob, done: Ints) -> None:
        self._job = job
        self._left = job.chunk_batches - done
        self._taken: dict[int, int] = {}  # chunk -> role
        self._batch_s = 0.0

    @property
    def left(self) -> int:
        """Mini-batches that are not done."""
        return int(self._left.sum())

    @property
    def is_out(self) -> bool:
        """Somebody holds one."""
        return bool(self._taken)

    @property
    def taken(self) -> frozenset[int]:
        """Chunks that have a worker."""
        return frozenset(self._taken)

    def take_again(self, role: int, chunk: int) -> None:
        """A chunk that somebody has to look after."""
        self._taken[chunk] = role

    def take(self, role: int, workers: int) -> tuple[int, int] | None:
        """A chunk, and how many mini-batches of it; None if every chunk is done or has its worker.

        The chunk with the most work left first, and shorter leases towards the end, so that workers finish together.
        """
        free = self._left.copy()
        free[list(self._taken)] = 0
        chunk = int(free.argmax())
        if free[chunk] <= 0:
            return None
        self._taken[chunk] = role
        wanted = int(LEASE_S / self._batch_s) if self._batch_s else FIRST_BATCHES
        share = -(-self.left // (2 * workers))
        return chunk, max(1, min(wanted, share, int(free[chunk])))

    def give_back(self, chunk: int, done: int, batches: int, elapsed_s: float) -> None:
        """`done` below 0: not known."""
        self._taken.pop(chunk, None)
        if done >= 0:
            self._left[chunk] = self._job.chunk_batches - done
        if batches:
            latest_s = elapsed_s / batches
            self._batch_s = 0.7 * self._batch_s + 0.3 * latest_s if self._batch_s else latest_s

    def lose(self, role: int) -> None:
        """The worker is gone."""
        self._taken = {chunk: holder for chunk, holder in self._taken.items() if holder != role}

    def restart(self, done: Ints) -> None:
        """What is done is this, after all."""
        self._left = np.asarray(self._job.chunk_batches - done)
