"""How a batch is cancelled that is being run: by an exception in the user's code, and nowhere else.

The main thread runs the user's code and hears nothing meanwhile, so whoever cancels leaves word and then sends SIGUSR1.
The signal alone decides nothing: only if the batch being run was named is `TaskCancelled` raised, and only while
`interruptible` says that the user's code is running.  A signal that comes too late therefore hits neither the executor
itself nor a task of another batch.

Code of ours that a task calls may hold something that an exception out of nowhere would lose, such as a process just
started: `postponed` lets a cancel wait until it is in good hands.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar

NO_BATCH = -1


class TaskCancelled(BaseException):
    """Raised inside a running task when its batch was cancelled.  Not an Exception, so that `except Exception` lets it
    pass."""


class Interrupts:
    """Subclasses know where word is left."""

    of_this_process: ClassVar[Interrupts | None] = None  # None: nobody cancels anything here

    def __init__(self) -> None:
        self.interruptible = False  # the user's code is running
        self.signalled = False  # there may be a cancel to look at
        self.copied = False  # this process is a fork made by a task: not the executor any more
        self._batch = NO_BATCH
        self._cancelled: set[int] = set()  # the batch being run, or later ones

    def attend(self) -> None:
        """Hear the signal from now on, and know a copy of this process for what it is."""
        Interrupts.of_this_process = self
        signal.signal(signal.SIGUSR1, self._on_signal)
        os.register_at_fork(after_in_child=self._in_copy)

    def begin(self, batch: int) -> None:
        self._batch = batch
        if batch in self._cancelled:
            self.signalled = True

    def end(self) -> None:
        self._cancelled.discard(self._batch)
        self._batch = NO_BATCH

    @property
    def is_cancelled(self) -> bool:
        """The batch that is being run."""
        return self._batch in self._cancelled

    def cancelled_meanwhile(self) -> bool:
        """The same for whoever waits in the middle of a batch while no task of it is running."""
        if self.signalled:
            self.signalled = False
            self._fetch()
            self.signalled = self.is_cancelled
        return self.is_cancelled

    def look(self) -> None:
        """Raise TaskCancelled if the batch being run was cancelled.  `interruptible` is true on entry and on return."""
        while True:
            self.interruptible = False  # a second signal only leaves word, so that this never runs inside itself
            self.signalled = False
            self._fetch()
            if self.is_cancelled:
                self.signalled = True  # a task that swallows the exception ends, but the next does not begin
                raise TaskCancelled
            self.interruptible = True
            if not self.signalled:
                return

    def _fetch(self) -> None:
        """Note what was cancelled, where that has not happened by itself."""

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signalled = True
        if self.interruptible:
            self.look()

    def _in_copy(self) -> None:
        self.copied = True
        self.interruptible = False


@contextmanager
def postponed() -> Iterator[None]:
    """A cancel that comes in here is raised at the end of the block."""
    interrupts = Interrupts.of_this_process
    if interrupts is None or threading.current_thread() is not threading.main_thread() or not interrupts.interruptible:
        yield
        return
    interrupts.interruptible = False
    try:
        yield
    finally:
        interrupts.interruptible = True
        if interrupts.signalled:
            interrupts.look()
