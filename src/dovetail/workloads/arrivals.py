"""When jobs arrive, what they weigh and when they are due: the options of a job sequence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError

KINDS = ("batch", "poisson", "trace")
MAX_INTERVAL_S = 1e9  # thirty years; beyond, times of arrival swallow the durations of tasks

MeanWork = Callable[[float], float]
"""Expected work of a job in task-seconds, given how many executors it holds."""


@dataclass(frozen=True)
class Arrivals:
    """How jobs arrive.

    batch: all at time 0.  poisson: exponential gaps, the first job after one gap; the mean gap is
    `interval_s`, or whatever keeps `executors` busy for a share `load` of the time (`interval_for`).  trace: a
    window of consecutive recorded jobs with their recorded gaps, shifted to start at time 0.
    """

    kind: str = "batch"
    interval_s: float | None = None
    load: float | None = None
    executors: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"arrivals: no kind {self.kind!r}; there are {', '.join(KINDS)}")
        if self.kind != "poisson":
            if self.interval_s is not None or self.load is not None:
                raise ConfigError(f"arrivals: {self.kind} takes neither an interval nor a load; poisson does")
            return
        if (self.interval_s is None) == (self.load is None):
            raise ConfigError("arrivals: poisson needs either a mean interval in seconds or a load, and not both")
        if self.interval_s is not None and not 0 < self.interval_s <= MAX_INTERVAL_S:
            raise ConfigError(
                f"arrivals: the mean interval must be above 0 seconds and {MAX_INTERVAL_S:g} at most, "
                f"not {self.interval_s:g}"
            )
        if self.load is not None:
            if not (math.isfinite(self.load) and self.load > 0):
                raise ConfigError(f"arrivals: the load must be above 0 (0.85 = 85 % busy), not {self.load:g}")
            if self.executors is None or self.executors < 1:
                raise ConfigError("arrivals: a load needs the number of executors it is a share of (at least 1)")

    def mean_interval_s(self, mean_work_s: MeanWork) -> float:
        """Mean gap between two jobs that carry this much work each, in seconds; poisson only."""
        if self.interval_s is not None:
            return self.interval_s
        if self.load is None or self.executors is None:
            raise ConfigError(f"arrivals: {self.kind} arrivals have no mean interval of their own")
        interval_s = interval_for(self.load, self.executors, mean_work_s)
        if not interval_s <= MAX_INTERVAL_S:
            raise ConfigError(
                f"arrivals: a load of {self.load:g} on {self.executors} executors means {interval_s:g} seconds between "
                f"jobs; expected a load high enough for {MAX_INTERVAL_S:g} at most"
            )
        return interval_s

    def times_s(self, num_jobs: int, mean_work_s: MeanWork, rng: np.random.Generator) -> Floats:
        """(num_jobs,) arrival times, batch or poisson; the first n of them do not depend on num_jobs."""
        if self.kind == "batch":
            return np.zeros(num_jobs)
        return np.cumsum(rng.exponential(self.mean_interval_s(mean_work_s), num_jobs))


def mean_share(load: float) -> float:
    """The mean share of a cluster that a job holds where all jobs share equally and arrive at random.

    With processor sharing a job finds n others with probability (1 - load) load^n, and so holds 1 / (n + 1).
    """
    if load >= 1:
        return 0.0
    return (1 - load) / load * -math.log1p(-load)


def interval_for(load: float, executors: int, mean_work_s: MeanWork) -> float:
    """The mean gap between jobs that keeps the executors busy for that share of the time.

    Work grows with the executors a job holds, and a job holds fewer of them the higher the load.
    """
    return mean_work_s(executors * mean_share(load)) / (executors * load)


def load_for(interval_s: float, executors: int, mean_work_s: MeanWork) -> float:
    """The load that such a mean gap gives: `interval_for` the other way round."""
    full = mean_work_s(0.0) / (executors * interval_s)
    if full >= 1:
        return full
    low, high = 1e-9, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if interval_for(middle, executors, mean_work_s) > interval_s:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Deadlines:
    """Due dates: arrival + factor * ideal time, the factor drawn uniformly from low .. high for each job.

    The ideal time of a job is the least that it would take alone, by mean durations, on up to `executors`
    (`durations.ideal_s`).
    """

    low: float
    high: float
    executors: int

    def __post_init__(self) -> None:
        if not (0 < self.low <= self.high < math.inf):
            raise ConfigError(f"deadlines: factors must be 0 < low <= high, not {self.low:g} .. {self.high:g}")
        if self.executors < 1:
            raise ConfigError(f"deadlines: the number of executors must be at least 1, not {self.executors}")
