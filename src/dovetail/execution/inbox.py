"""What the server says to an executor, in order, and the one thing that cannot wait its turn: cancel.

The main thread runs the user's code and hears nothing meanwhile.  So the server first sends ("cancel", batch), then
SIGUSR1.  The signal alone decides nothing: its handler looks into the socket for the message, and only if that names
the batch being run is `TaskCancelled` raised, and only while `interruptible` says that the user's code is running.  A
signal that comes too late therefore hits neither the executor itself nor a task of another batch.
"""

from __future__ import annotations

import os
import signal
import socket
from collections import deque
from types import FrameType

from dovetail.execution.wire import RECEIVE_BYTES, Frames, Message, WireError

NO_BATCH = -1


class TaskCancelled(BaseException):
    """Raised inside a running task when its batch was cancelled.  Not an Exception, so that `except Exception` lets it
    pass."""


class Inbox:
    def __init__(self, sock: socket.socket) -> None:
        self.interruptible = False  # the user's code is running
        self.signalled = False  # a cancel may wait in the socket
        self.copied = False  # this process is a fork made by a task: not the executor any more
        self._sock = sock
        self._frames = Frames()
        self._queue: deque[Message] = deque()
        self._batch = NO_BATCH
        self._waiting: set[int] = set()  # batches in the queue
        self._cancelled: set[int] = set()  # of those, and the one being run

    def attend(self) -> None:
        """Hear the signal from now on, and keep copies of this process out of the conversation."""
        signal.signal(signal.SIGUSR1, self._on_signal)
        os.register_at_fork(after_in_child=self._in_copy)

    def next(self) -> Message | None:
        """Waits for the next message; None when the server has closed the connection."""
        while not self._queue:
            try:
                data = self._sock.recv(RECEIVE_BYTES)
            except ConnectionError:
                return None
            if not data:
                return None
            self._take(self._frames.feed(data))
        return self._queue.popleft()

    def begin(self, batch: int) -> None:
        self._waiting.discard(batch)
        self._batch = batch
        if batch in self._cancelled:
            self.signalled = True

    def end(self) -> None:
        self._cancelled.discard(self._batch)
        self._batch = NO_BATCH

    @property
    def is_cancelled(self) -> bool:
        return self._batch in self._cancelled

    def look(self) -> None:
        """Raise TaskCancelled if the batch being run was cancelled.  `interruptible` is true on entry and on return."""
        while True:
            self.interruptible = False  # a second signal only leaves word, so that this never runs inside itself
            self.signalled = False
            try:
                self._take(self._frames.receive(self._sock))
            except WireError:
                os._exit(70)  # nothing sensible can follow; the node manager reports it
            if self.is_cancelled:
                self.signalled = True  # a task that swallows the exception ends, but the next does not begin
                raise TaskCancelled
            self.interruptible = True
            if not self.signalled:
                return

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            if message[0] == "cancel":
                # A batch that is neither run nor waiting is over: the message crossed its last report.
                if message[1] == self._batch or message[1] in self._waiting:
                    self._cancelled.add(message[1])
                continue
            if message[0] == "run":
                self._waiting.add(message[1])
            self._queue.append(message)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signalled = True
        if self.interruptible:
            self.look()

    def _in_copy(self) -> None:
        self.copied = True
        self.interruptible = False
        self._sock.close()
