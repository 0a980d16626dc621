"""Arrival rates with bursts, as the submission logs of large clusters show them; nothing here is measured data.

The logarithm of the rate wanders slowly about its mean (a first-order autoregression), a weak wave goes through it
about four times in the horizon, and now and then somebody submits a great many jobs at once: a burst of about ten times
the usual rate, which dies away within a few slots.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import Floats

WAVES = 4  # in the horizon
WAVE = 0.3  # of the logarithm
MEMORY = 0.8  # from one slot to the next
WANDER = 0.4  # standard deviation of the logarithm
BURST_EVERY = 40  # slots, on average
BURST = 10.0  # times the usual rate, on average
FADE = 0.35  # what is left of a burst a slot later
TAIL = 0.15  # share of the horizon at its end in which ever fewer come


def burst_rates(slots: int, rng: np.random.Generator) -> Floats:
    """(slots,) relative rates, all above 0; towards the end fewer jobs come, because they could hardly finish."""
    log_rate = np.empty(slots)
    state = WANDER * rng.standard_normal()
    for slot in range(slots):
        log_rate[slot] = state
        state = MEMORY * state + WANDER * np.sqrt(1 - MEMORY**2) * rng.standard_normal()
    phase = 2 * np.pi * (np.arange(slots) / slots * WAVES + rng.random())
    rate = np.exp(log_rate + WAVE * np.sin(phase))
    starts = np.flatnonzero(rng.random(slots) < 1.0 / BURST_EVERY)
    for start, height in zip(starts, rng.exponential(BURST, starts.size), strict=True):
        rate[start:] += height * FADE ** np.arange(slots - start)
    left = (slots - np.arange(slots)) / slots
    return np.asarray(rate * np.minimum(left / TAIL, 1.0), dtype=np.float64)
