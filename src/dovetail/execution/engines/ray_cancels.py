"""How a batch is cancelled that a Ray actor has: one switchboard for all executors, and a thread in each that listens.

Ray cannot interrupt a call of an actor, nor make another call of it meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

from dovetail.execution.interrupts import NO_BATCH, Interrupts

POLL_S = 30.0


class Switchboard:
    """An actor that passes the numbers of cancelled batches on to executors, which wait for them."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], asyncio.Queue[int]] = {}

    async def cancel(self, executor: int, incarnation: int, batch: int) -> None:
        self._queue(executor, incarnation).put_nowait(batch)

    async def next(self, executor: int, incarnation: int) -> int:
        """NO_BATCH after a while, so that nobody waits here for ever on behalf of one that has died."""
        try:
            return await asyncio.wait_for(self._queue(executor, incarnation).get(), POLL_S)
        except TimeoutError:
            return NO_BATCH

    def _queue(self, executor: int, incarnation: int) -> asyncio.Queue[int]:
        return self._waiting.setdefault((executor, incarnation), asyncio.Queue())


class Cancels(Interrupts):
    """By way of the switchboard.

    A call of an actor occupies its main thread, so a second thread listens.  It notes the number first and then
    signals the process.
    """

    def listen(self, wait: Callable[[], int]) -> None:
        self.attend()
        threading.Thread(target=self._listen, args=(wait,), daemon=True).start()

    def _listen(self, wait: Callable[[], int]) -> None:
        while True:
            try:
                batch = wait()
            except Exception:  # the switchboard is gone; the server kills what it cannot cancel
                return
            if batch != NO_BATCH:
                self._cancelled.add(batch)
                os.kill(os.getpid(), signal.SIGUSR1)
