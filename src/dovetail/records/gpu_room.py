"""What was free when, worked out from who ran where: would a job have fitted while it waited?"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from dovetail.cluster.gpu import TYPE_INDEX
from dovetail.core.gpu import Bools, Floats, Ints
from dovetail.records.gpu import GpuRun

SLACK = 1e-9


class RoomSpan(NamedTuple):
    """From one change of what is free to the next."""

    start_s: float
    end_s: float
    free_gpus: float


class RoomSeen(NamedTuple):
    """Over some time."""

    room_share: float  # of the time: all workers of the job would have fitted
    most_workers: int  # of them that would have fitted at any time
    free_gpus: float  # on average
    spans: tuple[RoomSpan, ...] = ()  # in which all would have fitted, in order


class RoomOverTime:
    """Follows what is free through the record of a run, for one job.

    Which types the job may run on is asked of its mask; whether its kind can run on a type at all is not in the record,
    so a job that some type cannot run is taken to fit there.
    """

    def __init__(self, run: GpuRun, job: int) -> None:
        self._run = run
        self._job = job

    def between(self, start_s: float, end_s: float) -> RoomSeen:
        """From one time to the other; what happens at a time counts from then on."""
        run, job = self._run, self._job
        workers = int(run.jobs.workers[job])
        state = _State(run)
        total, gpu_s, most, now = end_s - start_s, 0.0, 0, start_s
        spans: list[RoomSpan] = []
        for time_s, changes in [*_changes(run, end_s), (end_s, [])]:
            if time_s > now:
                fits = self._fits(state)
                most = max(most, fits)
                free = float(state.device[state.up].sum())
                gpu_s += (time_s - now) * free
                if fits >= workers:
                    spans.append(RoomSpan(now, time_s, free))
                now = time_s
            for kind, number in changes:
                state.apply(kind, number)
        if total <= 0:
            return RoomSeen(0.0, 0, 0.0)
        room_s = sum(one.end_s - one.start_s for one in spans)
        return RoomSeen(room_s / total, min(most, workers), gpu_s / total, tuple(spans))

    def _fits(self, state: _State) -> int:
        """Workers of the job that would fit now."""
        jobs, job = self._run.jobs, self._job
        most = np.full(len(state.up), float(jobs.workers[job]))
        for need, free in ((float(jobs.cpus[job]), state.cpus), (float(jobs.memory[job]), state.memory)):
            if need > 0:
                most = np.minimum(most, np.floor((free + SLACK) / need))
        gpus = float(jobs.gpus[job])
        if gpus >= 1:
            most = np.minimum(most, (state.device > 1 - SLACK).sum(axis=1) // int(gpus))
        elif gpus > 0:
            most = np.minimum(most, np.floor((state.device + SLACK) / gpus).sum(axis=1))
        return int(most[state.up & self._allowed].clip(0).sum())

    @cached_property
    def _allowed(self) -> Bools:
        """(M,) machines of a type it may run on."""
        mask = int(self._run.jobs.types[self._job])
        found = [mask == -1 or bool(mask >> TYPE_INDEX.get(name, 62) & 1) for name in self._run.machines.type]
        return np.array(found, np.bool_)


class _State:
    """What is free now."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        devices = np.arange(max(int(run.machines.gpus.max(initial=0)), 1))
        self.device: Floats = (devices < run.machines.gpus[:, None]).astype(np.float64)
        self.cpus = run.machines.cpus.copy()
        self.memory = run.machines.memory.copy()
        self.up = np.ones(len(run.machines), np.bool_)
        self._first = np.searchsorted(run.places.segment, np.arange(len(run.segments) + 1))

    def apply(self, kind: int, number: int) -> None:
        if kind == OUTAGE:
            self.up[self._run.outages.machine[number]] = self._run.outages.up[number]
            return
        sign = 1.0 if kind == END else -1.0
        run, job = self._run, int(self._run.segments.job[number])
        for place in range(int(self._first[number]), int(self._first[number + 1])):
            machine, workers = int(run.places.machine[place]), int(run.places.workers[place])
            self.cpus[machine] += sign * workers * run.jobs.cpus[job]
            self.memory[machine] += sign * workers * run.jobs.memory[job]
            device, whole = int(run.places.device[place]), int(run.places.devices[place])
            if device >= 0:
                self.device[machine, device] += sign * workers * run.jobs.gpus[job]
            for bit in range(whole.bit_length()):
                if whole >> bit & 1:
                    self.device[machine, bit] += sign


END, OUTAGE, START = range(3)


def _changes(run: GpuRun, end_s: float) -> list[tuple[float, list[tuple[int, int]]]]:
    """Everything that changes what is free before that time, by time: (kind, number of the segment or the outage)."""
    when = np.concatenate((run.segments.end_s, run.outages.time_s, run.segments.start_s))
    sizes = (len(run.segments), len(run.outages), len(run.segments))
    kind: Ints = np.repeat([END, OUTAGE, START], sizes)
    number = np.concatenate([np.arange(size) for size in sizes])
    order = np.lexsort((number, kind, when))
    found: list[tuple[float, list[tuple[int, int]]]] = []
    for at in order.tolist():
        time_s = float(when[at])
        if time_s >= end_s:
            break
        if not found or found[-1][0] != time_s:
            found.append((time_s, []))
        found[-1][1].append((int(kind[at]), int(number[at])))
    return found
