"""A chain of operators as single records go through it: the yardstick for the fluid of the stream simulator.

Records arrive by a Poisson process whose rate may change from bin to bin.  Every operator is a station of c servers
with exponential service times and one queue, first come first served.  At most `capacity` records are at a station,
waiting or in service, except the first, before which they wait without bound.  A server whose record finds the next
station full keeps it, and is blocked until there is room (blocking after service).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

import numpy as np

from dovetail.core.stream import Floats


@dataclass(frozen=True)
class Station:
    """What it is made of."""

    servers: int
    service_s: float
    capacity: float = inf


@dataclass
class Standing:
    """Who is at a station."""

    waiting: deque[int] = field(default_factory=deque)
    serving: int = 0
    blocked: deque[int] = field(default_factory=deque)  # served, but the next station is full; their servers are taken
    busy_s: float = 0.0
    blocked_s: float = 0.0
    waited_s: float = 0.0  # integral of the number at it

    @property
    def number(self) -> int:
        return len(self.waiting) + self.serving + len(self.blocked)


@dataclass(frozen=True)
class Passed:
    """What became of the records."""

    arrival_s: Floats  # (N,)
    departure_s: Floats  # (N,) from the last station; nan: still in the chain at the end
    number: Floats  # (looks, stations) records at each, when it was looked at
    busy: Floats  # (stations,) share of its servers' time
    blocked: Floats  # (stations,)
    mean_number: Floats  # (stations,)


def arrivals(rate: Sequence[float], bin_s: float, rng: np.random.Generator) -> Floats:
    """Times of a Poisson process with so many a second in each bin."""
    found = [
        b * bin_s + np.sort(rng.uniform(0.0, bin_s, size=rng.poisson(each * bin_s))) for b, each in enumerate(rate)
    ]
    return np.concatenate(found)


def pass_records(
    stations: Sequence[Station],
    rate: Sequence[float],
    bin_s: float,
    rng: np.random.Generator,
    *,
    looks_s: Sequence[float] = (),
    measure_from_s: float = 0.0,
) -> Passed:
    """Let the records of all bins through; shares and means are over the time from `measure_from_s` on."""
    return _Chain(stations, arrivals(rate, bin_s, rng), rng).run(len(rate) * bin_s, list(looks_s), measure_from_s)


class _Chain:
    def __init__(self, stations: Sequence[Station], arrival_s: Floats, rng: np.random.Generator) -> None:
        self.stations = stations
        self.standing = [Standing() for _ in stations]
        self.arrival_s = arrival_s
        self.departure_s = np.full(len(arrival_s), np.nan)
        self.now_s = 0.0
        self.completions: list[tuple[float, int, int]] = []  # (time, station, record)
        self.rng = rng
        self.draws: list[float] = []

    def run(self, end_s: float, looks_s: list[float], measure_from_s: float) -> Passed:
        numbers: list[list[int]] = []
        measured, record = measure_from_s <= 0.0, 0
        while True:
            arrives_s = float(self.arrival_s[record]) if record < len(self.arrival_s) else inf
            completes_s = self.completions[0][0] if self.completions else inf
            looks_next_s = looks_s[len(numbers)] if len(numbers) < len(looks_s) else inf
            starts_s = inf if measured else measure_from_s
            next_s = min(arrives_s, completes_s, looks_next_s, starts_s, end_s)
            self._pass_time(next_s - self.now_s)
            self.now_s = next_s
            if next_s == starts_s:
                measured = True
                for standing in self.standing:
                    standing.busy_s = standing.blocked_s = standing.waited_s = 0.0
            elif next_s == looks_next_s:
                numbers.append([standing.number for standing in self.standing])
            elif next_s == end_s:
                break
            elif next_s == arrives_s:
                self.standing[0].waiting.append(record)
                self._start(0)
                record += 1
            else:
                _, station, done = heappop(self.completions)
                self._served(station, done)
        return self._result(numbers, end_s - measure_from_s)

    def _pass_time(self, span_s: float) -> None:
        for standing in self.standing:
            standing.busy_s += standing.serving * span_s
            standing.blocked_s += len(standing.blocked) * span_s
            standing.waited_s += standing.number * span_s

    def _start(self, station: int) -> None:
        """Free servers take the records that wait."""
        standing, kind = self.standing[station], self.stations[station]
        while standing.waiting and standing.serving + len(standing.blocked) < kind.servers:
            standing.serving += 1
            finish_s = self.now_s + kind.service_s * self._exponential()
            heappush(self.completions, (finish_s, station, standing.waiting.popleft()))

    def _served(self, station: int, record: int) -> None:
        standing = self.standing[station]
        standing.serving -= 1
        standing.blocked.append(record)
        self._hand_on(station)

    def _hand_on(self, station: int) -> None:
        """Served records leave as far as there is room; that makes room here, for those of the station before."""
        standing, last = self.standing[station], station == len(self.stations) - 1
        moved = False
        while standing.blocked and (last or self.standing[station + 1].number < self.stations[station + 1].capacity):
            record = standing.blocked.popleft()
            moved = True
            if last:
                self.departure_s[record] = self.now_s
            else:
                self.standing[station + 1].waiting.append(record)
                self._start(station + 1)
        if moved:
            self._start(station)
            if station > 0:
                self._hand_on(station - 1)

    def _exponential(self) -> float:
        if not self.draws:
            self.draws = self.rng.standard_exponential(4096).tolist()
        return self.draws.pop()

    def _result(self, numbers: list[list[int]], span_s: float) -> Passed:
        servers = np.array([kind.servers for kind in self.stations], float)
        return Passed(
            arrival_s=self.arrival_s,
            departure_s=self.departure_s,
            number=np.array(numbers, float).reshape(-1, len(self.stations)),
            busy=np.array([standing.busy_s for standing in self.standing]) / span_s / servers,
            blocked=np.array([standing.blocked_s for standing in self.standing]) / span_s / servers,
            mean_number=np.array([standing.waited_s for standing in self.standing]) / span_s,
        )
