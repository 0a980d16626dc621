"""What the record of a gpu run says about one job, put in order: why it waited, where it ran, with whom, how fast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import LET_WAIT_TEXT, Ints
from dovetail.records.gpu import END_TEXT, HOUR_S, GpuRun
from dovetail.records.gpu_room import RoomOverTime, RoomSpan


class Taken(NamedTuple):
    """Another job that was started while this one waited."""

    row: int  # of the decision
    job: int
    later: bool  # it came after this one
    gpu_hours: float  # that it held from then on


class LetWait(NamedTuple):
    """The scheduler was asked while all workers of the job would have fitted, and did not start it."""

    since_s: float  # the first time
    seconds: float  # that there was room for it from then on
    free_gpus: float  # at that time, when others had been started
    why: str | None  # None: its scheduler gives no reason that would explain it


class Wait(NamedTuple):
    """The job waits, from its arrival or the end of a segment to its next start."""

    start_s: float
    end_s: float
    since: str  # what it waits since
    taken: tuple[Taken, ...]  # in the order taken
    room_share: float  # of the time: all its workers would have fitted
    most_workers: int  # that would have fitted at any time
    free_gpus: float  # on average
    let_wait: LetWait | None  # None: never, as far as is recorded

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class Neighbour(NamedTuple):
    """Another job with workers on one of its machines at the same time."""

    job: int
    seconds: float  # together
    same_device: bool


class Stay(NamedTuple):
    """The job runs, from a start to its end."""

    segment: int
    decision: int  # row, -1 = none is recorded
    stopped_by: int  # row of the decision that stopped it, -1 = none did
    start_s: float
    end_s: float
    ended: str
    machines: tuple[tuple[int, int, tuple[int, ...]], ...]  # machine, workers, devices
    racks: int
    speed: float  # mean
    slowest: float
    fastest: float
    alone: float
    fee: float  # USD
    neighbours: tuple[Neighbour, ...]  # those it was together with longest first

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, eq=False)
class JobStory:
    """The record of a run, seen from one job."""

    run: GpuRun
    job: int

    @property
    def arrival_s(self) -> float:
        return float(self.run.jobs.arrival_s[self.job])

    @property
    def finish_s(self) -> float:
        """inf = never."""
        return float(self.run.jobs.finish_s[self.job])

    @cached_property
    def segments(self) -> Ints:
        """Rows of its own, by start."""
        return np.flatnonzero(self.run.segments.job == self.job)

    @cached_property
    def waits(self) -> tuple[Wait, ...]:
        """Every time it waited; those that took no time are left out."""
        found, since_s, since = [], self.arrival_s, "arrived"
        for segment in self.segments.tolist():
            start_s = float(self.run.segments.start_s[segment])
            if start_s > since_s:
                found.append(self._wait(since_s, start_s, since))
            since_s, since = (
                float(self.run.segment_end_s[segment]),
                END_TEXT[int(self.run.segments.why[segment])],
            )
        if not np.isfinite(self.finish_s) and self.run.end_s > since_s:
            found.append(self._wait(since_s, self.run.end_s, since))
        return tuple(found)

    @cached_property
    def stays(self) -> tuple[Stay, ...]:
        """Every time it ran."""
        return tuple(self._stay(segment) for segment in self.segments.tolist())

    def _wait(self, start_s: float, end_s: float, since: str) -> Wait:
        """Whoever started meanwhile was taken before it; when it started itself, those before it in the answer."""
        run, decisions = self.run, self.run.decisions
        own = np.flatnonzero((decisions.job == self.job) & (decisions.time_s == end_s) & ~decisions.stops)
        last = int(own[0]) if own.size else int(np.searchsorted(decisions.time_s, end_s, side="left"))
        first = int(np.searchsorted(decisions.time_s, start_s, side="left"))
        rows = np.arange(first, last)
        rows = rows[~decisions.stops[rows] & (decisions.job[rows] != self.job)]
        room = RoomOverTime(run, self.job).between(start_s, end_s)
        taken = tuple(self._taken(int(row)) for row in rows)
        return Wait(start_s, end_s, since, taken, *room[:3], self._let_wait(room.spans))

    def _let_wait(self, spans: tuple[RoomSpan, ...]) -> LetWait | None:
        asked_s = self.run.decisions.time_s
        found: list[RoomSpan] = []
        for span in spans:
            at = int(np.searchsorted(asked_s, span.start_s, side="left"))
            if self.run.asked_at_once:
                found.append(span)
            elif at < len(asked_s) and asked_s[at] < span.end_s:  # of other times it is not known
                found.append(span._replace(start_s=float(asked_s[at])))
        if not found:
            return None
        given = set(self.run.decisions.reason.tolist())
        why = next((text for reason, text in LET_WAIT_TEXT.items() if int(reason) in given), None)
        return LetWait(found[0].start_s, sum(one.end_s - one.start_s for one in found), found[0].free_gpus, why)

    def _taken(self, row: int) -> Taken:
        run = self.run
        job, segment = int(run.decisions.job[row]), int(run.decisions.segment[row])
        held_s = float(run.segment_end_s[segment] - run.segments.start_s[segment])
        later = float(run.jobs.arrival_s[job]) > self.arrival_s
        return Taken(row, job, later, held_s * float(run.jobs.all_gpus[job]) / HOUR_S)

    def _stay(self, segment: int) -> Stay:
        run, decisions = self.run, self.run.decisions
        rows = np.flatnonzero(decisions.segment == segment)
        begins, ends = rows[~decisions.stops[rows]], rows[decisions.stops[rows]]
        start_s, end_s = float(run.segments.start_s[segment]), float(run.segment_end_s[segment])
        places = np.flatnonzero(run.places.segment == segment)
        machines: dict[int, tuple[int, list[int]]] = {}
        for place in places.tolist():
            machine = int(run.places.machine[place])
            workers, devices = machines.get(machine, (0, []))
            machines[machine] = (workers + int(run.places.workers[place]), devices + self._devices(place))
        speed = run.speeds.speed[run.speed_segment == segment]
        return Stay(
            segment=segment,
            decision=int(begins[0]) if begins.size else -1,
            stopped_by=int(ends[0]) if ends.size else -1,
            start_s=start_s,
            end_s=end_s,
            ended=END_TEXT[int(run.segments.why[segment])],
            machines=tuple((machine, count, tuple(devices)) for machine, (count, devices) in machines.items()),
            racks=len({int(run.machines.rack[machine]) for machine in machines}),
            speed=float(run.mean_speed[segment]),
            slowest=float(speed.min(initial=np.inf)),
            fastest=float(speed.max(initial=0.0)),
            alone=float(run.segments.alone[segment]),
            fee=float(run.usd_per_hour[segment]) * (end_s - start_s) / HOUR_S,
            neighbours=self._neighbours(segment, places),
        )

    def _devices(self, place: int) -> list[int]:
        device, whole = int(self.run.places.device[place]), int(self.run.places.devices[place])
        return [device] if device >= 0 else [bit for bit in range(whole.bit_length()) if whole >> bit & 1]

    def _neighbours(self, segment: int, places: Ints) -> tuple[Neighbour, ...]:
        run = self.run
        start_s, end_s = run.segments.start_s[segment], run.segment_end_s[segment]
        theirs = run.places.segment
        overlap = np.minimum(run.segment_end_s[theirs], end_s) - np.maximum(run.segments.start_s[theirs], start_s)
        near = (overlap > 0) & (theirs != segment) & np.isin(run.places.machine, run.places.machine[places])
        shared = {(int(run.places.machine[p]), int(run.places.device[p])) for p in places if run.places.device[p] >= 0}
        together: dict[int, float] = {}
        same: set[int] = set()
        segments: dict[int, set[int]] = {}
        for place in np.flatnonzero(near).tolist():
            other = int(run.segments.job[theirs[place]])
            if int(theirs[place]) not in segments.setdefault(other, set()):  # once, however many machines they share
                segments[other].add(int(theirs[place]))
                together[other] = together.get(other, 0.0) + float(overlap[place])
            if (int(run.places.machine[place]), int(run.places.device[place])) in shared:
                same.add(other)
        found = (Neighbour(other, seconds, other in same) for other, seconds in together.items())
        return tuple(sorted(found, key=lambda one: (-one.seconds, one.job)))
