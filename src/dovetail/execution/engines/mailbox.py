"""What other threads have to say, for a thread that sits in a selector."""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """`post` from any thread; `take` when `socket` is readable."""

    def __init__(self) -> None:
        self.socket, self._bell = socket.socketpair()
        self.socket.setblocking(False)
        self._bell.setblocking(False)
        self._items: deque[Item] = deque()
        self._rung = False

    def post(self, item: Item) -> None:
        self._items.append(item)
        if not self._rung:  # whoever clears this looks at the items afterwards, so none is overlooked
            self._rung = True
            with contextlib.suppress(OSError):  # closed: nobody wants to know any more
                self._bell.send(b"!")

    def take(self) -> Iterator[Item]:
        with contextlib.suppress(BlockingIOError):
            self.socket.recv(64)
        self._rung = False
        while self._items:
            yield self._items.popleft()

    def close(self) -> None:
        self.socket.close()
        self._bell.close()
