"""What is to be done later, by one thread, in order of time."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count


class Agenda:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._tie = count()

    def at(self, delay_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (time.monotonic() + delay_s, next(self._tie), action))

    @property
    def next_s(self) -> float:
        return self._heap[0][0] if self._heap else float("inf")

    def do_until(self, now_s: float) -> None:
        while self.next_s <= now_s:
            heapq.heappop(self._heap)[2]()
