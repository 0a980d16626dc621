"""What the schedulers that are told the future share: the rates to come, and a price where slots are short."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.core.errors import DovetailError
from dovetail.core.stream import Floats, Ints, StreamFuture, StreamInfo

PRICES = (0.0, *(0.0005 * 2.0**i for i in range(15)))
"""Of an instance, in rewards of an interval."""


def told(info: StreamInfo, name: str) -> StreamFuture:
    if info.future is None:
        raise DovetailError(f"{name} needs a world that tells the future; run it in the simulator")
    return info.future


def rates_between(future: StreamFuture, job: int, start_s: float, end_s: float, bin_s: float) -> Floats:
    """Mean rates of bins of `bin_s` from `start_s` on, as many whole ones as there are until `end_s` or the end."""
    row = future.rate[job]
    came = np.concatenate([[0.0], np.cumsum(row) * future.bin_s])
    end_s = min(end_s, len(row) * future.bin_s)
    edges = start_s + bin_s * np.arange(int((end_s - start_s) / bin_s + 1e-9) + 1)
    rates: Floats = np.diff(np.interp(edges, future.bin_s * np.arange(len(came)), came)) / bin_s
    return rates


def at_lowest_price(plan: Callable[[float], Ints], slots: int) -> Ints:
    """What is wanted at the lowest price at which that is within the slots, or at the highest: the dearer, the less."""
    found = plan(PRICES[0])
    low, high = 0, len(PRICES) - 1
    while found.sum() > slots and low + 1 < high:
        middle = (low + high) // 2
        if plan(PRICES[middle]).sum() > slots:
            low = middle
        else:
            high = middle
    return found if found.sum() <= slots else plan(PRICES[high])
