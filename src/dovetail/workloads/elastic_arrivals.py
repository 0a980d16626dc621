"""When elastic jobs arrive: in which slot of the horizon.

However they arrive, exactly as many jobs come as are asked for, and all within the horizon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dovetail.core.config import build
from dovetail.core.elastic import Floats, Ints
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_spec, read_overrides
from dovetail.workloads.generate.elastic_bursts import burst_rates

KINDS = ("poisson", "uniform", "batch", "bursts", "counts", "trace")
SPAN = 0.7  # share of the horizon: who comes later can hardly finish


@dataclass(frozen=True)
class ElasticArrivals:
    """How jobs arrive.

    poisson: exponential gaps of equal mean, such that the last job comes after a share `span` of the horizon on
    average.  (Sequences that would not end within the horizon are drawn again.)  uniform: each in a slot of the first
    `span` of the horizon drawn with equal chance.  batch: all in slot 0.  bursts: a rate of our own making that wanders
    and now and then shoots up (`burst_rates`), another one for each seed.  counts: a given series of arrivals per slot,
    stretched over the first `span` of the horizon and scaled to the number of jobs; every slot gets its share of the
    jobs rounded down or up, by chance, so a series with as many slots and jobs as are asked for is repeated exactly.
    trace: a window of consecutive recorded jobs with their recorded gaps, shifted to start in slot 0.
    """

    kind: str = "poisson"
    span: float | None = None  # none: 0.7; 1 for bursts and counts, which have quiet ends of their own
    counts: tuple[float, ...] = field(default=(), repr=False)  # of `counts` only

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"arrivals: no kind {self.kind!r}; there are {', '.join(KINDS)}")
        if self.span is not None:
            if self.kind in ("batch", "trace"):
                raise ConfigError(f"arrivals: {self.kind} takes no span; poisson, uniform, bursts and counts do")
            if not 0 < self.span <= 1:
                raise ConfigError(f"arrivals: the span is a share of the horizon above 0 and up to 1, not {self.span}")
        if self.kind != "counts":
            if self.counts:
                raise ConfigError(f"arrivals: {self.kind} takes no counts; the kind `counts` does")
            return
        if not self.counts:
            raise ConfigError("arrivals: counts needs a series of arrivals per slot (counts:file=FILE)")
        if not (all(count >= 0 for count in self.counts) and math.isfinite(sum(self.counts))):
            raise ConfigError("arrivals: counts must be finite numbers, 0 or more")
        if not any(self.counts):
            raise ConfigError("arrivals: all counts are 0; expected at least one arrival")

    @property
    def share(self) -> float:
        """Of the horizon in which jobs come."""
        if self.span is not None:
            return self.span
        return 1.0 if self.kind in ("bursts", "counts") else SPAN

    def in_slots(self, num_jobs: int, slots: int, rng: np.random.Generator) -> Ints:
        """(num_jobs,) slots of arrival in order; not for `trace`, whose slots are recorded."""
        if self.kind == "trace":
            raise ConfigError("arrivals: a trace has recorded slots; open a recorded workload, or take another kind")
        if self.kind == "batch":
            return np.zeros(num_jobs, dtype=np.int64)
        span = self.share * slots
        if self.kind == "poisson":
            times = _poisson(num_jobs, span, slots, rng)
        elif self.kind == "uniform":
            times = np.sort(rng.random(num_jobs)) * span
        else:
            bursts = self.kind == "bursts"
            counts = burst_rates(slots, rng) if bursts else np.array(self.counts, dtype=np.float64)
            # Independent draws, or evenly spaced ones that are all shifted by chance (systematic sampling).
            share = np.sort(rng.random(num_jobs)) if bursts else (rng.random() + np.arange(num_jobs)) / num_jobs
            times = _by_counts(share, counts) * span
        return np.minimum(np.floor(times + 1e-9), slots - 1).astype(np.int64)


def _poisson(num_jobs: int, span: float, slots: int, rng: np.random.Generator) -> Floats:
    """The last job comes at `span` on average, so at least about half of the draws fit."""
    while True:
        times = np.cumsum(rng.exponential(span / num_jobs, num_jobs))
        if times[-1] < slots:
            return np.asarray(times, dtype=np.float64)


def _by_counts(share: Floats, counts: Floats) -> Floats:
    """When these shares of all arrivals have come, as shares of the series' time."""
    heaped = np.concatenate(([0.0], np.cumsum(counts)))
    at = share * heaped[-1]
    cell = np.clip(np.searchsorted(heaped, at, side="right") - 1, 0, counts.size - 1)
    within = np.clip((at - heaped[cell]) / np.maximum(counts[cell], 1e-300), 0.0, 1.0 - 1e-6)
    return np.asarray((cell + within) / counts.size, dtype=np.float64)


@dataclass(frozen=True)
class _Written:
    """What may follow the kind of arrivals in a spec."""

    span: float | None = None
    file: str | None = None
    pattern: str | None = None
    counts: tuple[float, ...] = ()


def read_arrivals(text: str) -> ElasticArrivals:
    """Arrivals as a person writes them: `poisson:span=0.5`, `counts:counts=[1,9,2]`, `counts:file=FILE,pattern=10`."""
    kind, overrides = parse_spec(text)
    if kind not in KINDS:
        raise UnknownName("kind of arrivals", kind, KINDS)
    written = build(_Written, read_overrides(_Written, overrides, f"arrivals {kind}"), f"arrivals {kind}")
    if written.file is None:
        if written.pattern is not None:
            raise ConfigError("arrivals: a pattern is one of the series of a file; give the file, too")
        return ElasticArrivals(kind, written.span, written.counts)
    if kind != "counts" or written.counts:
        raise ConfigError("arrivals: a file is for the kind `counts` only, and stands instead of a series")
    from dovetail.workloads.readers.arrival_counts import read_counts

    return ElasticArrivals(kind, written.span, read_counts(Path(written.file), pattern=written.pattern).counts)
