"""Max-min fairness of effective speed over types of GPUs, by a linear program (Gavel: Narayanan et al., OSDI 2020).

X(j, t) is the part of its time that job j should spend on GPUs of type t:

    maximise  z,  then the sum of all jobs' relative speeds with z kept
    z <= sum over t of X(j, t) speed(j, t) / equal(j)        equal(j): speed with an equal share of every type
    sum over t of X(j, t) <= 1,   sum over j of gpus(j) X(j, t) <= GPUs of type t

over all waiting and running jobs.  The priority of job j on type t is X(j, t) / (time received / time since arrival),
and gangs are placed on one type at a time.  A job may also go where X is 0, after all others, so that nothing stays
idle; and one that is too large for any one type on several, after all others as well.

Departures: jobs that are alike in kind, types and GPUs share one row, so that the program stays small; it is solved
anew at most every `every_s`, and when a job comes that is like none before; time received counts for all types
together; jobs without GPUs are outside of it and go first.  Not compiled: HiGHS solves the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView, Ints, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, PreemptiveOrder
from dovetail.schedulers.heuristic.gpu.room import Need, Room, allowed_types
from dovetail.schedulers.optimise.program import Program

LEAST_S = 60.0  # of time received and of age, so that nothing divides by nothing
NOWHERE = 1e-9  # share of a type that the program gives nothing of

Alike = tuple[int, int, float]
"""Kind, mask of types, GPUs of the gang."""


class MaxMin(PreemptiveOrder):
    @dataclass(frozen=True)
    class Params:
        every_s: float = field(default=360.0, metadata={"help": "seconds after which the shares are worked out anew"})
        margin: float = field(default=2.0, metadata={"help": "stop only who is so many times further above; from 1"})

        def __post_init__(self) -> None:
            if not 0.0 <= self.every_s < float("inf"):
                raise ValueError(f"every_s is {self.every_s}; expected seconds, 0 or more")
            if not 1.0 <= self.margin < float("inf"):
                raise ValueError(f"margin is {self.margin}; expected a factor of 1 or more")

    REASON = Reason.FURTHEST_BELOW_FAIR_SHARE
    TUNE: ClassVar = {"every_s": (60.0, 360.0, 1800.0)}

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        types = len(info.type_name)
        self._there = np.isin(np.arange(types), info.machine_type)
        self._gpus = np.zeros(types)
        np.add.at(self._gpus, info.machine_type, info.machine_gpus)
        self._shares: dict[Alike, Floats] = {}  # (T,) what the program gave
        self._solved_s = -np.inf
        self._known: dict[tuple[Alike, float, float, float], list[int]] = {}

    def begin(self, view: GpuView, room: Room) -> Candidates:
        waiting, running = self._alike(view)
        stale = view.time_s - self._solved_s >= self.params.every_s
        if stale or any(one not in self._shares for one in waiting + running):
            self._solve(waiting + running)
            self._solved_s = view.time_s
        found: list[tuple[int, int]] = []
        for job, one in enumerate(waiting):
            found += [(job, mask) for mask in self._masks(view, job, one)]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return Candidates(pairs[:, 0], pairs[:, 1])

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        waiting, _ = self._alike(view)
        gang = view.job_workers * view.job_gpus
        behind = self._behind(view.time_s, view.job_arrival_s, view.job_served_s, gang)
        keys = np.empty(len(candidates.job))
        for place, (job, mask) in enumerate(zip(candidates.job.tolist(), candidates.types.tolist(), strict=True)):
            wanted = 0.0 if mask == -1 else self._shares[waiting[job]][mask.bit_length() - 1]
            keys[place] = -wanted * behind[job] if wanted > NOWHERE else 1.0 / behind[job]
        return keys

    def waiting_keys(self, view: GpuView, room: Room, jobs: Ints) -> Floats:
        waiting, _ = self._alike(view)
        behind = self._behind(view.time_s, view.job_arrival_s, view.job_served_s, view.job_workers * view.job_gpus)
        wanted = np.array([self._shares[one].max() for one in waiting])
        keys: Floats = -wanted * behind
        return keys[jobs]

    def run_keys(self, view: GpuView) -> Floats:
        _, running = self._alike(view)
        gang = view.run_workers * view.run_gpus
        behind = self._behind(view.time_s, view.run_arrival_s, view.run_served_s, gang)
        wanted = np.array([self._shares[one].max() for one in running])
        keys: Floats = -wanted * behind * self.params.margin
        return keys

    def may_stop(self, view: GpuView) -> Bools:
        return np.asarray(view.time_s - view.run_start_s >= self.params.every_s)

    def _behind(self, time_s: float, arrival_s: Floats, served_s: Floats, gang: Floats) -> Floats:
        """1 / part of its time since arrival that a job has been served."""
        received = served_s / np.maximum(gang, 0.1) + LEAST_S
        behind: Floats = (time_s - arrival_s + LEAST_S) / received
        return behind

    def _alike(self, view: GpuView) -> tuple[list[Alike], list[Alike]]:
        waiting = _rows(view.job_kind, view.job_types, view.job_workers * view.job_gpus)
        running = _rows(view.run_kind, view.run_types, view.run_workers * view.run_gpus)
        return waiting, running

    def _allowed(self, one: Alike) -> Bools:
        """(T,) types of the cluster that it may run on."""
        return allowed_types(self.info, one[1], one[0]) & self._there

    def _masks(self, view: GpuView, job: int, one: Alike) -> list[int]:
        """Types one by one; all of them at once for a job that no single one could hold even if nothing ran."""
        demand = (one, float(view.job_gpus[job]), float(view.job_cpus[job]), float(view.job_memory[job]))
        if demand not in self._known:
            masks = [1 << t for t in np.flatnonzero(self._allowed(one)).tolist()]
            empty = _empty(self.info)
            needs = [Need.of(view, self.info, job, mask) for mask in masks]
            held = any(int(empty.capacity(need).sum()) >= need.workers for need in needs)
            self._known[demand] = masks if held else [-1]
        return self._known[demand]

    def _solve(self, jobs: list[Alike]) -> None:
        rows = sorted(set(jobs))
        place = {row: number for number, row in enumerate(rows)}
        count = np.bincount([place[job] for job in jobs], minlength=len(rows)).astype(np.float64)
        speed = np.array([np.where(self._allowed(row), self.info.kind_speed[row[0]], 0.0) for row in rows])
        gpus = np.array([row[2] for row in rows])
        share = fair_shares(speed, gpus, count, self._gpus)
        for row, number in place.items():
            self._shares[row] = share[number] if row[2] > 0.0 else np.ones(len(self._gpus))


def _empty(info: GpuInfo) -> Room:
    """All machines up, and nothing on them."""
    devices = max(1, int(info.machine_gpus.max()))
    return Room(
        info,
        np.ones(len(info.machine_gpus), np.bool_),
        np.where(np.arange(devices) < info.machine_gpus[:, None], 1.0, 0.0),
        info.machine_gpus.astype(np.float64),
        info.machine_gpus.copy(),
        info.machine_cpus.copy(),
        info.machine_memory.copy(),
    )


def _rows(kind: Ints, types: Ints, gpus: Floats) -> list[Alike]:
    return list(zip(kind.tolist(), types.tolist(), np.round(gpus, 6).tolist(), strict=True))


def fair_shares(speed: Floats, gpus: Floats, count: Floats, has: Floats) -> Floats:
    """(N, T) X of each kind of job: `speed` (N, T), `gpus` (N,) of a gang, `count` (N,) of them, `has` (T,) GPUs."""
    shares = np.zeros_like(speed)
    inside = np.flatnonzero((gpus > 0.0) & (speed.max(axis=1, initial=0.0) > 0.0))
    if not len(inside):
        return shares
    speed, gpus, count = speed[inside], gpus[inside], count[inside]
    rows, types = speed.shape
    wanted = float((gpus * count).sum())
    equal = np.maximum((speed * np.minimum(1.0, has / wanted)).sum(axis=1), 1e-9)
    row, kind = (index.ravel() for index in np.indices((rows, types)))

    def program(least: float) -> tuple[Program, Ints, Ints]:
        made = Program()
        relative = speed / equal[:, None]
        cost = (relative * count[:, None]).ravel() if least > 0.0 else 0.0
        x = made.add_columns(rows * types, cost=cost, upper=np.where(speed > 0.0, 1.0, 0.0).ravel())
        z = made.add_columns(1, cost=1.0 if least == 0.0 else 0.0, lower=least)
        made.add_rows(rows, (row, x, relative.ravel()), (np.arange(rows), z, -1.0), lower=0.0, upper=np.inf)
        made.add_rows(rows, (row, x, 1.0), lower=-np.inf, upper=1.0)
        made.add_rows(types, (kind, x, np.repeat(gpus * count, types)), lower=-np.inf, upper=has)
        return made, x, z

    made, x, z = program(0.0)
    first = made.solve()
    assert first.values is not None, "nobody gets anything is a solution"
    made, x, _ = program(float(first.values[z[0]]) * (1.0 - 1e-6))
    second = made.solve()
    values = first.values if second.values is None else second.values
    shares[inside] = values[x].reshape(rows, types)
    return shares
