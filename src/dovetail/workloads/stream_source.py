"""Where streaming jobs come from: a generator or a record of jobs, and rates of which each sequence is a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from dovetail.core.config import build
from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.spec import parse_spec, read_overrides
from dovetail.core.stream import WEEK_S
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_jobs import StreamJobs
from dovetail.workloads.stream_rates import MAX_BINS, StreamRates, read_rates

STREAM = {
    "small-1": "dovetail.workloads.generate.stream_layered:Small1",
    "small-2": "dovetail.workloads.generate.stream_layered:Small2",
    "medium-1": "dovetail.workloads.generate.stream_layered:Medium1",
    "medium-2": "dovetail.workloads.generate.stream_layered:Medium2",
    "large-1": "dovetail.workloads.generate.stream_layered:Large1",
    "large-2": "dovetail.workloads.generate.stream_layered:Large2",
    "nexmark-q1": "dovetail.workloads.generate.stream_nexmark:Query1",
    "nexmark-q2": "dovetail.workloads.generate.stream_nexmark:Query2",
    "nexmark-q3": "dovetail.workloads.generate.stream_nexmark:Query3",
    "nexmark-q5": "dovetail.workloads.generate.stream_nexmark:Query5",
    "nexmark-q8": "dovetail.workloads.generate.stream_nexmark:Query8",
    "nexmark-q11": "dovetail.workloads.generate.stream_nexmark:Query11",
    "shared": "dovetail.workloads.generate.stream_shared:Shared",
    "stream-layered": "dovetail.workloads.generate.stream_layered:Layered",
}
"""Bundled workloads: name -> parameters of the generator.  Defaults always give the same jobs."""


class StreamGenerator(Protocol):
    """Parameters of jobs, and of the setting they were made for."""

    @property
    def rates(self) -> str: ...
    @property
    def jitter(self) -> float: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def interval_s(self) -> float: ...
    def jobs(self) -> StreamJobs: ...


@dataclass(frozen=True, eq=False)
class StreamSource:
    """Draws sequences: always the same jobs, each time another window of the rates.

    `duration_s` and `interval_s` are the setting it was made for: what commands take unless they are told otherwise.
    `jitter` is the coefficient of variation of a factor of mean 1 that is drawn anew for each bin.
    """

    name: str
    table: StreamJobs
    rates: StreamRates
    duration_s: float = WEEK_S
    interval_s: float = 3600.0
    jitter: float = 0.0

    @property
    def jobs(self) -> int:
        return self.table.num_jobs

    def sequence(self, duration_s: float | None, seeds: SeedTree, window: int | None = None) -> StreamWorkload:
        """So many seconds of rates (none: as it was made for).  Rates, window and jitter have streams of their own.

        `window`: this one of those that lie side by side in a recorded series, instead of one from anywhere in it.

        A series is scaled such that its mean, that of all of it, is the mean rate of the job; so a window of a quiet
        night is quiet.  Where there is one series for several jobs, all of them get the same window of it.
        """
        bins = self._bins(self.duration_s if duration_s is None else duration_s)
        series = self.rates.series(self.table.job_name, bins, seeds.child("rates"))
        start = self._window(window, bins, seeds, series.rate.shape[1])
        rate = series.rate[:, start : start + bins] * (self.table.job_rate / series.rate.mean(axis=1))[:, None]
        if self.jitter > 0:
            sigma = np.sqrt(np.log1p(self.jitter**2))
            normal = seeds.child("jitter").generator().standard_normal(rate.shape)
            rate = rate * np.exp(sigma * normal - sigma**2 / 2)
        clock_s = (series.clock_s + start * series.bin_s) % WEEK_S
        return self.table.workload(series.bin_s, rate, clock_s)

    def windows(self, duration_s: float) -> int:
        """So many of this length lie side by side in the recorded series."""
        recorded_s = self.rates.duration_s
        if recorded_s is None:
            raise DovetailError(f"rates {self.rates.name} are drawn, so there are no windows to take in turn")
        return int(recorded_s / self.rates.bin_s + 1e-6) // self._bins(duration_s)

    def _window(self, window: int | None, bins: int, seeds: SeedTree, there: int) -> int:
        """The bin it begins with."""
        if window is None:
            return int(seeds.child("window").generator().integers(there - bins + 1))
        count = self.windows(bins * self.rates.bin_s)
        if not 0 <= window < count:
            raise DovetailError(
                f"rates {self.rates.name} have {count} windows of {bins * self.rates.bin_s:,.0f} s side by side, seeds "
                f"0 to {count - 1}; seed {window} asked for"
            )
        return window * bins

    def _bins(self, duration_s: float) -> int:
        bins = duration_s / self.rates.bin_s
        if not (1 <= bins <= MAX_BINS and abs(bins - round(bins)) < 1e-6):
            raise DovetailError(
                f"workload {self.name}: {duration_s:g} s asked for; expected a multiple of {self.rates.bin_s:g} s, the "
                f"bins of its rates, {MAX_BINS:,} of them at most"
            )
        return round(bins)


def open_stream(name_or_path: str | Path, rates: str | None = None) -> StreamSource:
    """The workload in that directory, or the bundled one of that name; `rates` take the place of its own.

    A bundled name may be followed by parameters: `small-1:runtime=cold,rates=step`.  Where recorded rates are shorter
    than what the workload was made for, a sequence is as long as they are.
    """
    text = str(name_or_path)
    if text not in STREAM and Path(text).is_dir():
        from dovetail.workloads.readers.stream_native import read_stream

        source = read_stream(Path(text))
        return source if rates is None else with_rates(source, read_rates(rates))
    if text not in STREAM and ("/" in text.partition(":")[0] or Path(text).exists()):
        raise DovetailError(f"workload {text}: {'not a' if Path(text).exists() else 'no such'} directory")
    name, overrides = parse_spec(text)
    if name not in STREAM:
        raise UnknownName("workload", name, STREAM)
    made = stream_generator(name, overrides)
    found = read_rates(made.rates if rates is None else rates)
    source = StreamSource(text, made.jobs(), found, made.duration_s, made.interval_s, made.jitter)
    return with_rates(source, found)


def with_rates(source: StreamSource, rates: StreamRates) -> StreamSource:
    """The same jobs with other rates."""
    longest_s = rates.duration_s
    duration_s = source.duration_s if longest_s is None else min(source.duration_s, longest_s)
    return replace(source, rates=rates, duration_s=duration_s)


def stream_generator(name: str, overrides: Mapping[str, object]) -> StreamGenerator:
    """The bundled workload's parameters, some of them changed."""
    module, params = STREAM[name].split(":")
    cls: type[StreamGenerator] = getattr(import_module(module), params)
    return build(cls, read_overrides(cls, overrides, name), name)
