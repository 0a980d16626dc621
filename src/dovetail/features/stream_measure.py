"""Over the neighbours of every operator, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True}


@njit(**OPTIONS)
def look_around(values, others, ends, out):
    """Mean, maximum and sum of values (H, O), which are 0 or more, over `others` up to the end of each operator's."""
    for h in range(values.shape[0]):
        first = 0
        for i in range(values.shape[1]):
            total, most = np.float32(0.0), np.float32(0.0)
            for k in range(first, ends[i]):
                value = values[h, others[k]]
                total += value
                most = max(most, value)
            out[0, h, i] = total / np.float32(max(ends[i] - first, 1))
            out[1, h, i] = most
            out[2, h, i] = total
            first = ends[i]
