"""A part of a trace by time, such as what came before a moment to learn from and what came after it to judge by.

A moment is seconds after the first job (`3600`), or the share of the jobs that came before it (`60%`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import Floats

_EXPECTED = "seconds after the first job (3600), or a share of the jobs (60%)"


@dataclass(frozen=True)
class Moment:
    """One of the two is there."""

    seconds: float | None = None
    share: float | None = None

    def place(self, arrival_s: Floats) -> int:
        """How many of the jobs came before; their times are in order."""
        if self.share is not None:
            return round(self.share * len(arrival_s))
        return int(np.searchsorted(arrival_s - arrival_s[0], self.seconds or 0.0)) if len(arrival_s) else 0


def read_moment(option: str, text: str, expected: str = _EXPECTED) -> Moment:
    """As a person writes it; `option` is what messages call it."""
    number = text.removesuffix("%")
    try:
        value = math.nan if "_" in number else float(number)
    except ValueError:
        value = math.nan
    if number != text and 0 <= value <= 100:
        return Moment(share=value / 100)
    if number == text and 0 <= value < math.inf:
        return Moment(seconds=value)
    raise ConfigError(f"{option} {text}: expected {expected}")


def time_slice(arrival_s: Floats, start: str | None, end: str | None, *, expected: str = _EXPECTED) -> slice:
    """Jobs from `start` (the first) to before `end` (after the last); `expected`: of moments that cannot be read."""
    first = 0 if start is None else read_moment("--from", start, expected).place(arrival_s)
    last = len(arrival_s) if end is None else read_moment("--to", end, expected).place(arrival_s)
    return slice(first, max(first, last))
