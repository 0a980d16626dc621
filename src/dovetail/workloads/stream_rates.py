"""How many records come when: a series that was recorded, or one that is drawn anew for each seed.

A series is relative: what uses it scales it such that its mean is the mean rate of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from dovetail.core.config import build
from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.spec import parse_spec, read_overrides
from dovetail.core.stream import WEEK_S, Floats

RATES = {
    "web": "dovetail.workloads.generate.stream_rates:Web",
    "diurnal": "dovetail.workloads.generate.stream_rates:Diurnal",
    "bursty": "dovetail.workloads.generate.stream_rates:Bursty",
    "flash-crowd": "dovetail.workloads.generate.stream_rates:FlashCrowd",
    "step": "dovetail.workloads.generate.stream_rates:Step",
    "drift": "dovetail.workloads.generate.stream_rates:Drift",
}
"""Bundled rates: name -> parameters of the generator."""

MAX_BINS = 10**7  # of a series


@dataclass(frozen=True, eq=False)
class RateSeries:
    """S series side by side, T bins each.  One is for all jobs; otherwise each is for the job of its name."""

    name: tuple[str, ...]  # (S,)
    bin_s: float
    clock_s: float  # time of the week at the start, seconds since Monday 0:00
    rate: Floats  # (S, T) records a second, not negative, not all 0

    @property
    def duration_s(self) -> float:
        return float(self.rate.shape[1] * self.bin_s)


class RateShape(Protocol):
    """Parameters of a generator of rates."""

    @property
    def bin_s(self) -> float: ...
    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        """(bins,) relative rates from Monday 0:00 on."""
        ...


class StreamRates(Protocol):
    """Where series come from."""

    @property
    def name(self) -> str: ...
    @property
    def bin_s(self) -> float: ...
    @property
    def duration_s(self) -> float | None:
        """Of the series; None: as long as is asked for."""
        ...

    def series(self, job_name: tuple[str, ...], bins: int, seeds: SeedTree) -> RateSeries:
        """One of at least so many bins, of which a sequence is a window."""
        ...


@dataclass(frozen=True, eq=False)
class RecordedRates:
    """Always the same series."""

    name: str
    recorded: RateSeries

    @property
    def bin_s(self) -> float:
        return self.recorded.bin_s

    @property
    def duration_s(self) -> float:
        return self.recorded.duration_s

    @property
    def digest(self) -> str:
        """A fingerprint of the series, whatever it is called and wherever it is kept."""
        return blake2b(np.ascontiguousarray(self.recorded.rate).tobytes(), digest_size=8).hexdigest()

    def series(self, job_name: tuple[str, ...], bins: int, seeds: SeedTree) -> RateSeries:
        there = self.recorded.rate.shape[1]
        if bins > there:
            raise DovetailError(
                f"rates {self.name}: {bins * self.bin_s:,.0f} s in a row asked for, {self.duration_s:,.0f} s were "
                "recorded"
            )
        if len(self.recorded.name) > 1 and self.recorded.name != job_name:
            raise DovetailError(
                f"rates {self.name} are for jobs {', '.join(self.recorded.name)}, not for {', '.join(job_name)}; "
                "expected a series of the same name for each job in the same order, or one for all"
            )
        return self.recorded


@dataclass(frozen=True, eq=False)
class GeneratedRates:
    """A week from Monday 0:00 on, or longer if that is asked for; each job has its own."""

    name: str
    shape: RateShape

    @property
    def bin_s(self) -> float:
        return self.shape.bin_s

    @property
    def duration_s(self) -> None:
        return None

    def series(self, job_name: tuple[str, ...], bins: int, seeds: SeedTree) -> RateSeries:
        bins = max(bins, int(WEEK_S // self.bin_s))
        drawn = [self.shape.draw(bins, seeds.child(job).generator()) for job in range(len(job_name))]
        return RateSeries(job_name, self.bin_s, 0.0, np.stack(drawn))


def read_rates(text: str) -> StreamRates:
    """Rates as a person writes them: `web`, `diurnal:night=0.2`, or a directory with a stored series.

    Where they stand among parameters between commas, brackets hold theirs together: `rates=[step:low=0.5,high=3]`.
    """
    text = text[1:-1].strip() if text.startswith("[") and text.endswith("]") else text
    if text not in RATES and Path(text).is_dir():
        from dovetail.workloads.readers.stream_native import read_series

        return read_series(Path(text))
    name, overrides = parse_spec(text)
    if text not in RATES and ("/" in name or Path(text).exists()):
        raise DovetailError(f"rates {text}: {'not a' if Path(text).exists() else 'no such'} directory")
    if name not in RATES:
        raise UnknownName("kind of rates", name, RATES)
    return GeneratedRates(text, rate_shape(name, overrides))


def rate_shape(name: str, overrides: Mapping[str, object]) -> RateShape:
    """The generator's parameters, some of them changed."""
    module, params = RATES[name].split(":")
    cls: type[RateShape] = getattr(import_module(module), params)
    return build(cls, read_overrides(cls, overrides, f"rates {name}"), f"rates {name}")
