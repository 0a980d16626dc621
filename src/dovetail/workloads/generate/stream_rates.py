"""Rates of records over the week, of our own making; every figure is a parameter.

`web` has the shape of a busy web server.  Its figures are round ones near those of the public log of ClarkNet, two
weeks of requests by the minute: night at a third of the afternoon's peak, weekends at 0.7 of other days and two hours
later, an hour's mean that wanders by 12 % about all that, and minutes that vary by 26 % within an hour, more so when
few come.  The other shapes are fitted to nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dovetail.core.stream import DAY_S, WEEK_S, Floats

_HOUR_S = 3600.0
_CHANGE_S = 6 * _HOUR_S  # from weekdays to weekends, and back


@dataclass(frozen=True)
class _Shape:
    bin_s: float = 60.0

    def __post_init__(self) -> None:
        if not 1 <= self.bin_s <= _HOUR_S or self.bin_s % 1 or WEEK_S % self.bin_s:
            raise ValueError(f"bin_s is {self.bin_s:g}; expected whole seconds that divide a week, 1 to 3600")

    def at_s(self, bins: int) -> Floats:
        """(bins,) middle of each bin, seconds since the first Monday 0:00."""
        return np.asarray((np.arange(bins) + 0.5) * self.bin_s, dtype=np.float64)


@dataclass(frozen=True)
class Web(_Shape):
    """Day, week, slow wandering from hour to hour and from day to day, and minutes that vary."""

    swing: float = 0.5  # of the logarithm of the rate over the day
    second: float = 0.15  # the same for a wave of half a day, which makes evenings long
    peak_h: float = 16.0  # of the wave of a day
    weekend: float = 0.7  # level of weekends, as a share of that of other days
    later_h: float = 2.0  # weekends are so much later
    wander: float = 0.11  # of the logarithm of an hour's mean
    memory: float = 0.5  # of that, from one hour to the next
    day_noise: float = 0.05  # of the logarithm of a day's level
    noise: float = 0.25  # of a minute within its hour, where the mean rate comes
    noise_memory: float = 0.35  # of that, from one minute to the next
    steady: float = 0.3  # share of the noise's variance that does not shrink as more come

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, 0, 3, "swing", "second", "wander", "day_noise", "noise")
        _within(self, 0, 24, "peak_h", "later_h")
        _within(self, 0.01, 100, "weekend")
        _within(self, 0, 0.99, "memory", "noise_memory")
        _within(self, 0, 1, "steady")

    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        at_s = self.at_s(bins)
        weekend = _weekend(at_s)
        hour = at_s % DAY_S / _HOUR_S - self.later_h * weekend
        log_rate = self.swing * np.cos(2 * np.pi / 24 * (hour - self.peak_h))
        log_rate += self.second * np.cos(4 * np.pi / 24 * hour) + math.log(self.weekend) * weekend
        log_rate += self.day_noise * _joined(at_s / DAY_S, rng.standard_normal(int(at_s[-1] // DAY_S) + 3))
        hours = int(at_s[-1] // _HOUR_S) + 3
        log_rate += self.wander * _joined(at_s / _HOUR_S, _wandering(hours, self.memory, rng))
        level = np.exp(log_rate)
        level /= level.mean()
        variance = self.noise**2 * (self.steady + (1 - self.steady) / level)
        return level * _noise(np.sqrt(variance), self.noise_memory, rng)


@dataclass(frozen=True)
class Diurnal(_Shape):
    """Day and night, weekdays and weekends, smooth but for some noise."""

    night: float = 0.3  # lowest rate of a day, as a share of its highest
    peak_h: float = 15.0  # hour of the highest
    weekend: float = 0.7  # level of weekends, as a share of that of other days
    noise: float = 0.1  # of a bin

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, 0.001, 1, "night")
        _within(self, 0, 24, "peak_h")
        _within(self, 0.01, 100, "weekend")
        _within(self, 0, 3, "noise")

    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        return self.smooth(bins) * _noise(self.noise, 0.0, rng, bins)

    def smooth(self, bins: int) -> Floats:
        at_s = self.at_s(bins)
        wave = (1 + np.cos(2 * np.pi * (at_s / DAY_S - self.peak_h / 24))) / 2
        level: Floats = (self.night + (1 - self.night) * wave) * self.weekend ** _weekend(at_s)
        return level


@dataclass(frozen=True)
class Bursty(_Shape):
    """Quiet, and now and then `burst` times as much for a while; both last as long as chance has it."""

    burst: float = 4.0
    quiet_s: float = 5400.0  # on average
    burst_s: float = 900.0  # on average
    noise: float = 0.1  # of a bin

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, 1, 1000, "burst")
        _within(self, 1, 1e7, "quiet_s", "burst_s")
        _within(self, 0, 3, "noise")

    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        at_s, changes = self.at_s(bins), [0.0]
        while changes[-1] < at_s[-1]:
            changes.append(changes[-1] + rng.exponential(self.burst_s if len(changes) % 2 == 0 else self.quiet_s))
        bursting = np.searchsorted(changes, at_s, side="right") % 2 == 0
        return np.where(bursting, self.burst, 1.0) * _noise(self.noise, 0.0, rng, bins)


@dataclass(frozen=True)
class FlashCrowd(Diurnal):
    """Day and night, and now and then a crowd that comes within minutes and leaves within hours."""

    per_week: float = 4.0  # crowds, on average
    height: float = 3.0  # added by one at its peak, as a multiple of the mean rate, on average
    rise_s: float = 300.0
    fade_s: float = 3600.0  # in which it shrinks to a third

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, 0, 1000, "per_week", "height")
        _within(self, 1, 1e6, "rise_s", "fade_s")

    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        at_s, level = self.at_s(bins), self.smooth(bins)
        level /= level.mean()
        span_s = bins * self.bin_s
        starts = rng.uniform(0, span_s, rng.poisson(self.per_week * span_s / WEEK_S))
        for start_s, height in zip(starts, rng.lognormal(-0.125, 0.5, starts.size) * self.height, strict=True):
            since_s = at_s - start_s
            rising = np.clip(since_s / self.rise_s, 0, 1)
            level += height * rising * np.exp(-np.maximum(since_s - self.rise_s, 0) / self.fade_s)
        return level * _noise(self.noise, 0.0, rng, bins)


@dataclass(frozen=True)
class Step(_Shape):
    """Levels between `low` and `high`, every magnitude alike, that jump at times left to chance."""

    low: float = 0.4
    high: float = 1.8
    every_s: float = 6 * _HOUR_S  # on average
    noise: float = 0.1  # of a bin

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, 1e-6, 1e6, "low", "high")
        _within(self, 1, 1e7, "every_s")
        _within(self, 0, 3, "noise")
        if self.low > self.high:
            raise ValueError(f"low is {self.low:g} and high is {self.high:g}; expected low to be no more than high")

    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        at_s, changes = self.at_s(bins), [0.0]
        while changes[-1] < at_s[-1]:
            changes.append(changes[-1] + rng.exponential(self.every_s))
        levels = np.exp(rng.uniform(math.log(self.low), math.log(self.high), len(changes)))
        level: Floats = levels[np.searchsorted(changes, at_s, side="right") - 1]
        return level * _noise(self.noise, 0.0, rng, bins)


@dataclass(frozen=True)
class Drift(Diurnal):
    """Day and night at a level that grows (or shrinks) from week to week, and wanders from day to day."""

    growth: float = 2.0  # in a week
    wander: float = 0.1  # of the logarithm, from one day to the next, summed up

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, 0.01, 100, "growth")
        _within(self, 0, 3, "wander")

    def draw(self, bins: int, rng: np.random.Generator) -> Floats:
        at_s = self.at_s(bins)
        walk = np.cumsum(rng.standard_normal(int(at_s[-1] // DAY_S) + 3)) * self.wander
        trend = np.exp(math.log(self.growth) * at_s / WEEK_S + _joined(at_s / DAY_S, walk))
        return self.smooth(bins) * trend * _noise(self.noise, 0.0, rng, bins)


def _within(shape: _Shape, least: float, most: float, *names: str) -> None:
    for name in names:
        if not least <= getattr(shape, name) <= most:
            raise ValueError(f"{name} is {getattr(shape, name):g}; expected {least:g} to {most:g}")


def _weekend(at_s: Floats) -> Floats:
    """1 on Saturdays and Sundays, 0 on other days; the first hours of Saturday and of Monday lead over."""
    week_s = at_s % WEEK_S
    ends = np.clip(1 - week_s / _CHANGE_S, 0, 1)
    begins = np.clip((week_s - 5 * DAY_S) / _CHANGE_S, 0, 1)
    return np.maximum(begins, ends)


def _joined(at: Floats, values: Floats) -> Floats:
    """Values at 0, 1, ... joined by lines."""
    return np.interp(at, np.arange(values.size), values)


def _wandering(count: int, memory: float, rng: np.random.Generator) -> Floats:
    """A first-order autoregression of variance 1."""
    draws = rng.standard_normal(count)
    for place in range(1, count):
        draws[place] = memory * draws[place - 1] + math.sqrt(1 - memory**2) * draws[place]
    return draws


def _noise(sigma: float | Floats, memory: float, rng: np.random.Generator, bins: int | None = None) -> Floats:
    """Factors of mean 1, lognormal, with coefficient of variation `sigma`; their logarithms are autocorrelated."""
    bins = np.size(sigma) if bins is None else bins
    normal = rng.standard_normal(bins)
    if memory > 0:
        reach = math.ceil(math.log(1e-9) / math.log(memory))  # beyond it nothing is left of a shock
        normal = np.concatenate((rng.standard_normal(reach), normal))
        weights = math.sqrt(1 - memory**2) * memory ** np.arange(reach + 1)
        normal = np.convolve(normal, weights, mode="valid")
    log_variance = np.log1p(np.square(sigma))
    factor: Floats = np.exp(np.sqrt(log_variance) * normal - log_variance / 2)
    return factor
