"""Workers on many machines: each is a Ray actor with one processor.

A worker is lost when its process or its machine dies.  It answers None to the call it was asked, and a new one is
asked for at once.  Training goes on with those that are left; the new one joins as soon as there is room for it.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.errors import DovetailError
from dovetail.execution.engines import ray_cluster
from dovetail.training.dag_worker import DagWorker
from dovetail.training.workers import MakeWorker

PATIENCE_S = 60.0  # for all workers at the start, and later for one if none is left
OBJECT_STORE_BYTES = 200_000_000  # of a Ray that is started here; only weights and gradients go through it
POLL_S = 0.5

Outcome = tuple[bool, Any]
"""True and the answer, or False and the traceback.  So an error of ours is never taken for a lost worker."""


class Seat:
    """What an actor is: the place of one worker."""

    def start(self, make: MakeWorker, number: int) -> Outcome:
        fine, made = _outcome(make, number)
        if not fine:
            return False, made
        self._worker: DagWorker = made
        return True, None

    def call(self, method: str, arguments: tuple[Any, ...]) -> Outcome:
        return _outcome(getattr(self._worker, method), *arguments)


class RayWorkers:
    """`count` workers (None: one for each free processor) in the Ray cluster at `address` (None: one started here)."""

    def __init__(
        self,
        make: MakeWorker,
        count: int | None = None,
        address: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.lost = 0
        self._make = make
        self._patience_s = patience_s
        self._working: dict[int, Any] = {}  # actors by number of the worker
        self._coming: dict[int, tuple[Any, Any]] = {}  # the same, and what will be their answer to `start`
        self._last_loss = "there was no room for one"
        self._ray, self._connected_here = ray_cluster.connect(address, count, OBJECT_STORE_BYTES, "`--rollouts ray`")
        self._seat = self._ray.remote(num_cpus=1)(Seat)
        try:
            free = int(self._ray.available_resources().get("CPU", 0))
            wanted = max(free, 1) if count is None else count
            for number in range(wanted):
                self._ask_for(number)
            self._let_in(wanted)
        except BaseException:
            self.close()
            raise

    @property
    def count(self) -> int:
        return len(self._working)

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        actors = sorted(self._working.items())
        asked = [
            (number, actor.call.remote(method, given)) for (number, actor), given in zip(actors, arguments, strict=True)
        ]
        answers = [self._answer(number, reference) for number, reference in asked]
        self._let_in(1)
        return answers

    def close(self) -> None:
        for actor in [*self._working.values(), *(actor for actor, _ in self._coming.values())]:
            self._ray.kill(actor)
        self._working, self._coming = {}, {}
        if self._connected_here:
            self._ray.shutdown()

    # --- inside ------------------------------------------------------------------------------------------------

    def _ask_for(self, number: int) -> None:
        actor = self._seat.remote()
        self._coming[number] = actor, actor.start.remote(self._make, number)

    def _let_in(self, wanted: int) -> None:
        """Those that have come join the others.  Waits until `wanted` are there, but not for ever."""
        end = time.monotonic() + self._patience_s
        while self._coming:
            missing = len(self._working) < wanted
            number_of = {reference: number for number, (_, reference) in self._coming.items()}
            come, _ = self._ray.wait([*number_of], num_returns=len(number_of), timeout=POLL_S if missing else 0)
            for reference in come:
                number = number_of[reference]
                actor, _ = self._coming.pop(number)
                self._working[number] = actor
                self._answer(number, reference)
            if len(self._working) >= wanted or time.monotonic() >= end:
                break
        if not self._working:
            waited = f"{self._patience_s:g} s"
            raise DovetailError(f"training: no Ray worker could be had within {waited}: {self._last_loss}")

    def _answer(self, number: int, reference: Any) -> Any:
        exceptions = self._ray.exceptions
        losses = (
            exceptions.RayActorError,
            exceptions.ObjectLostError,
            exceptions.WorkerCrashedError,
            exceptions.NodeDiedError,
            exceptions.OutOfMemoryError,
        )
        try:
            fine, answer = self._ray.get(reference)
        except losses as error:
            self.lost += 1
            self._last_loss = str(error)
            self._ray.kill(self._working.pop(number))  # it may only be out of reach
            self._ask_for(number)
            return None
        if not fine:
            raise DovetailError(f"training: worker {number} failed\n{answer}")
        return answer


def _outcome(do: Callable[..., Any], *arguments: Any) -> Outcome:
    try:
        return True, do(*arguments)
    except Exception:
        return False, traceback.format_exc()
