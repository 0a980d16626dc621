"""What the server says to an executor, in order, and the one thing that cannot wait its turn: cancel.

The server first sends ("cancel", batch), then the signal, whose handler looks into the socket for the message.
"""

from __future__ import annotations

import os
import socket
from collections import deque

from dovetail.execution.interrupts import Interrupts
from dovetail.execution.wire import RECEIVE_BYTES, Frames, Message, WireError


class Inbox(Interrupts):
    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock
        self._frames = Frames()
        self._queue: deque[Message] = deque()
        self._waiting: set[int] = set()  # batches in the queue

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
        super().begin(batch)

    def _fetch(self) -> None:
        try:
            self._take(self._frames.receive(self._sock))
        except WireError:
            os._exit(70)  # nothing sensible can follow; the node manager reports it

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

    def _in_copy(self) -> None:
        super()._in_copy()
        self._sock.close()  # copies of this process are kept out of the conversation
