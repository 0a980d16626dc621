"""What takes too long for the server's loop is done by a second thread, one thing after the other; the loop hears of it
when it is done."""

from __future__ import annotations

import queue
import selectors
import threading
from collections.abc import Callable
from typing import Any

from dovetail.execution.engines.mailbox import Mailbox

Outcome = Any  # what was made, or the exception
Then = Callable[[Outcome], None]


class Aside:
    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], Then]] = queue.SimpleQueue()
        self._done: Mailbox[tuple[Then, Outcome]] | None = None

    def do(self, make: Callable[[], Any], then: Then) -> None:
        """`make` on the other thread, `then` on this one, in the order of the calls."""
        if self._done is None:
            self._done = Mailbox()
            self._selector.register(self._done.socket, selectors.EVENT_READ, self._hear)
            threading.Thread(target=self._run, args=(self._done,), daemon=True).start()
        self._work.put((make, then))

    def close(self) -> None:
        """What is being done is left to itself."""
        if self._done is not None:
            self._selector.unregister(self._done.socket)
            self._done.close()

    def _run(self, done: Mailbox[tuple[Then, Outcome]]) -> None:
        while True:
            make, then = self._work.get()
            try:
                outcome = make()
            except Exception as error:
                outcome = error
            done.post((then, outcome))

    def _hear(self, mask: int, now_s: float) -> None:
        assert self._done is not None
        for then, outcome in self._done.take():
            then(outcome)
