"""Amounts of memory as people write them."""

from __future__ import annotations

import math
import re

from dovetail.execution.errors import InvalidJob

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_TEXT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*")
LEAST_BYTES = 10**6
EXPECTED = 'expected text such as "200MB" or "1.5GiB", or a number of bytes, 1 MB or more'


def memory_gb(value: float | str, place: str) -> float:
    """A limit in units of 1e9 bytes; 0 is none.  So little that no task could run is most likely another unit."""
    size_bytes = _bytes(value)
    if size_bytes is None or not math.isfinite(size_bytes) or (size_bytes != 0 and size_bytes < LEAST_BYTES):
        raise InvalidJob(f"{place}: memory is {value!r}; {EXPECTED}")
    return size_bytes / 10**9


def _bytes(value: object) -> float | None:
    if isinstance(value, str):
        match = _TEXT.fullmatch(value)
        if match is None or match[2].upper() not in _UNITS:
            return None
        return float(match[1]) * _UNITS[match[2].upper()]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value < 1e300 else math.inf


def shown_bytes(size_bytes: float) -> str:
    for unit, least in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= least:
            return f"{size_bytes / least:.1f} {unit}"
    return f"{size_bytes:.0f} bytes"
