"""When GPU training jobs arrive: at a rate that is said, or that makes the load that is asked for.

The load is GPU-seconds that arrive in a second, divided by those that the cluster can do: each GPU counts by how fast
its type is on average.  Slow-downs are not in it, so a load of 1 is more than the cluster can do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dovetail.core.config import build
from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_spec, read_overrides

KINDS = ("poisson", "diurnal", "uniform", "batch", "trace")
DAY_S = 86_400.0
SWING = 0.5  # of the public trace of 2023: the first harmonic of its arrivals over the day is 0.46
LOAD = 0.9
_WRITTEN = "poisson:load=0.9, diurnal:interval_s=60,swing=0.3, trace, trace:apart=true"


@dataclass(frozen=True)
class GpuArrivals:
    """How jobs arrive.

    poisson: exponential gaps.  diurnal: the same at a rate that rises and falls over the day by `swing`, highest at
    midnight when the sequence begins, as a clock that starts at 0 has it in the public trace.  uniform: times drawn
    with equal chance from as long as so many jobs take at this rate.  batch: all at time 0.  trace: a window of
    consecutive recorded jobs, shifted to start at 0, with their recorded gaps; a load or an interval stretches them.
    Windows begin anywhere, so those of different seeds overlap; `apart`: they lie one after another and share no job,
    seed 0 is the first, and there are only so many.

    The rate is one job in `interval_s` on average, or as many as make the `load`; with neither, a load of 0.9.
    """

    kind: str = "diurnal"
    load: float | None = None
    interval_s: float | None = None
    swing: float | None = None  # of `diurnal`; none: 0.5
    apart: bool | None = None  # of `trace`; none: no

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName("kind of arrivals", self.kind, KINDS)
        if self.load is not None and self.interval_s is not None:
            raise ConfigError("arrivals: a load and an interval are given; expected one or the other")
        for name in ("load", "interval_s"):
            value = getattr(self, name)
            if value is None:
                continue
            if self.kind == "batch":
                raise ConfigError(f"arrivals: batch takes no {name}; all jobs come at once")
            if not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"arrivals: {name} is {value:g}; expected a number above 0")
        if self.swing is not None:
            if self.kind != "diurnal":
                raise ConfigError(f"arrivals: {self.kind} takes no swing; diurnal does")
            if not 0 <= self.swing <= 1:
                raise ConfigError(f"arrivals: swing is {self.swing:g}; expected 0 to 1")
        if self.apart is not None and self.kind != "trace":
            raise ConfigError(f"arrivals: {self.kind} takes no apart; trace does")

    def mean_interval_s(self, mean_gpu_seconds: float, capacity: float) -> float:
        """Seconds between jobs on average, for jobs of so many GPU-seconds on a cluster of so many reference GPUs."""
        if self.interval_s is not None:
            return self.interval_s
        if mean_gpu_seconds <= 0:
            raise ConfigError("arrivals: jobs without GPUs make no load; give an interval (poisson:interval_s=60)")
        if capacity <= 0:
            raise ConfigError("arrivals: a cluster without GPUs has no load; give an interval (poisson:interval_s=60)")
        return mean_gpu_seconds / (capacity * (LOAD if self.load is None else self.load))

    def times(self, num_jobs: int, interval_s: float, rng: np.random.Generator) -> Floats:
        """(num_jobs,) seconds in order; not for `trace`, whose times are recorded."""
        if self.kind == "trace":
            raise ConfigError("arrivals: a trace has recorded times; open a recorded workload, or take another kind")
        if self.kind == "batch":
            return np.zeros(num_jobs)
        if self.kind == "uniform":
            return np.sort(rng.random(num_jobs)) * num_jobs * interval_s
        even = np.cumsum(rng.exponential(interval_s, num_jobs))
        swing = (SWING if self.swing is None else self.swing) if self.kind == "diurnal" else 0.0
        return _by_the_day(even, swing, num_jobs * interval_s) if swing else even


def _by_the_day(even: Floats, swing: float, span_s: float) -> Floats:
    """Times t at which t + swing * DAY / (2 pi) * sin(2 pi t / DAY), what has come by then, is `even`: by bisection.

    A sequence of less than a day sees a part of the swing only; `even` is stretched such that it still takes `span_s`
    on average, at the rate that is asked for.
    """
    reach = swing * DAY_S / (2 * math.pi)
    even = even * (1 + reach * math.sin(2 * math.pi * span_s / DAY_S) / span_s)
    low, high = even - reach, even + reach
    for _ in range(60):
        middle = (low + high) / 2
        come = middle + reach * np.sin(2 * math.pi / DAY_S * middle)
        low, high = np.where(come < even, middle, low), np.where(come < even, high, middle)
    return np.maximum.accumulate(np.maximum((low + high) / 2, 0.0))


def read_arrivals(text: str) -> GpuArrivals:
    """Arrivals as a person writes them: `poisson:load=0.9`, `diurnal:interval_s=60,swing=0.3`, `trace`."""
    kind, overrides = parse_spec(text)
    if kind not in KINDS:
        raise UnknownName("kind of arrivals", kind, KINDS)
    if "kind" in overrides:
        raise ConfigError(f"arrivals {text!r}: the kind is said already; expected {_WRITTEN}")
    values = read_overrides(GpuArrivals, overrides, f"arrivals {kind}")
    return build(GpuArrivals, {"kind": kind, **values}, f"arrivals {kind}")
