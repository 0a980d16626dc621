"""Small stream workloads for the tests."""

from __future__ import annotations

import numpy as np

from dovetail.workloads.stream_jobs import StreamBuilder, StreamJobs
from dovetail.workloads.stream_rates import RateSeries, RecordedRates
from dovetail.workloads.stream_source import StreamSource


def diamond(jobs: int = 1, slots: int = 40) -> StreamJobs:
    """Jobs `a`, `b`, ... of four operators: read -> (left, right) -> join; left halves what comes."""
    builder = StreamBuilder()
    for name in "abcdef"[:jobs]:
        builder.job(name, rate=100.0, restart_s=1.5, slo_s=2.0, checkpoint_s=10.0)
        read = builder.operator("read", service_s=0.005, buffer_s=1.0, source=1.0)
        left = builder.operator("left", read, service_s=0.02, buffer_s=1.0, selectivity=0.5)
        right = builder.operator("right", (read, 0.25), service_s=0.04, buffer_s=1.0, variability=0.5)
        builder.operator("join", left, right, service_s=0.01, buffer_s=2.0, state_mb=50.0, skew=0.1)
    return builder.build(slots)


def series(*rates: tuple[float, ...], names: tuple[str, ...] | None = None, bin_s: float = 60.0) -> RateSeries:
    rates = rates or (tuple(float(1 + place % 3) for place in range(120)),)
    names = tuple(f"s{place}" for place in range(len(rates))) if names is None else names
    return RateSeries(names, bin_s, 86_400.0, np.array(rates))


def recorded(jobs: int = 1, rates: RateSeries | None = None) -> StreamSource:
    rates = series() if rates is None else rates
    return StreamSource("toy", diamond(jobs), RecordedRates("mine", rates), rates.duration_s)
