"""What the engine costs beside the tasks themselves, measured where it happens."""

from __future__ import annotations

from collections import deque

import numpy as np

from dovetail.execution.status import OverheadStatus

KEPT = 65_536  # of each kind, the latest
FRESH = 10_000


class Overheads:
    """Kinds of time are named by whoever measures them, such as "decide", "dispatch" and "report"."""

    def __init__(self) -> None:
        self._latest_s: dict[str, deque[float]] = {}
        self._counts: dict[str, int] = {}
        self._fresh_s: dict[str, list[float]] = {}  # since the last `drain`, bounded

    def add(self, name: str, spent_s: float) -> None:
        latest_s = self._latest_s.get(name)
        if latest_s is None:
            latest_s = self._latest_s[name] = deque(maxlen=KEPT)
            self._counts[name] = 0
            self._fresh_s[name] = []
        latest_s.append(spent_s)
        if len(self._fresh_s[name]) < FRESH:
            self._fresh_s[name].append(spent_s)
        self._counts[name] += 1

    def drain(self, name: str) -> list[float]:
        """What was added since the last time, or the beginning of it."""
        fresh_s = self._fresh_s.get(name, [])
        if fresh_s:
            self._fresh_s[name] = []
        return fresh_s

    def status(self) -> tuple[OverheadStatus, ...]:
        found = []
        for name, latest_s in sorted(self._latest_s.items()):
            p50_us, p95_us = np.percentile(np.array(latest_s) * 1e6, (50, 95)).tolist()
            found.append(OverheadStatus(name, self._counts[name], round(p50_us, 3), round(p95_us, 3)))
        return tuple(found)
