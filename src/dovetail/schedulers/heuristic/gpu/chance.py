"""Random numbers from a counter, so that Python and compiled code draw the same: splitmix64 of key, count and place."""

from __future__ import annotations

from dovetail.schedulers.kernels.gpu_codes import GOLDEN, MIX1, MIX2, SECOND

_MASK = (1 << 64) - 1


def drawn(key: int, count: int, place: int) -> float:
    """A number from 0 to 1, without 1."""
    h = (key + count * GOLDEN + place * SECOND) & _MASK
    h = ((h ^ (h >> 30)) * MIX1) & _MASK
    h = ((h ^ (h >> 27)) * MIX2) & _MASK
    h ^= h >> 31
    return float(h >> 11) * 2.0**-53
