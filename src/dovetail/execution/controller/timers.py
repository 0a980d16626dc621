"""What waits for time to pass: the controller's own alarm clock; the arrival of executors is the manager's."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

from dovetail.execution.controller.state import Executor

TIMEOUT, GRACE, COPIES = range(3)
"""Kinds: a task's time is up; a cancelled one had time to stop; look for stragglers."""
FEW = 1000
NOBODY = -1


class Timer(NamedTuple):
    at_s: float
    tie: int
    kind: int
    executor: int
    batch: int  # the timer means nothing once it is over
    set_s: float


class Timers:
    def __init__(self, executors: Mapping[int, Executor]) -> None:
        self._executors = executors
        self._heap: list[Timer] = []
        self._tie = count()
        self._most = FEW

    @property
    def next_s(self) -> float:
        return self._heap[0].at_s if self._heap else math.inf

    def set(self, now_s: float, after_s: float, kind: int, executor: Executor | None = None) -> None:
        who = (NOBODY, NOBODY) if executor is None else (executor.number, next(iter(executor.batches)))
        heapq.heappush(self._heap, Timer(now_s + after_s, next(self._tie), kind, *who, now_s))
        if len(self._heap) > self._most:
            self._forget_those_over()

    def pop(self) -> Timer:
        return heapq.heappop(self._heap)

    def drop(self, kind: int) -> None:
        self._heap = [timer for timer in self._heap if timer.kind != kind]
        heapq.heapify(self._heap)

    def begin_now(self, since_s: float, now_s: float) -> None:
        """Executors heard only now of what was begun since then, and have their full time from now on."""
        self._heap = [
            timer._replace(at_s=timer.at_s + now_s - timer.set_s, set_s=now_s)
            if timer.executor != NOBODY and timer.set_s >= since_s
            else timer
            for timer in self._heap
        ]
        heapq.heapify(self._heap)

    def _forget_those_over(self) -> None:
        """Long timeouts of short tasks would pile up."""
        self._heap = [
            timer
            for timer in self._heap
            if timer.executor == NOBODY or timer.batch in self._executors[timer.executor].batches
        ]
        heapq.heapify(self._heap)
        self._most = max(FEW, 2 * len(self._heap))
