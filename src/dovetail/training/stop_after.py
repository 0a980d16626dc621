"""When a run has had its time."""

from __future__ import annotations

import time
from collections.abc import Callable


def stop_after(minutes: float | None) -> Callable[[], bool]:
    """Says when a time is over."""
    end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    return lambda: time.monotonic() >= end
