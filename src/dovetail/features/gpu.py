"""What a learned policy of the gpu family sees: jobs, machines, and each job on each machine, as numbers near 1.

The only feature code of this family: environments, `gpu/das` and live engines share it.  Sets of columns are named and
versioned; a checkpoint that was trained on others is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView, Ints

FEATURES = "cloud-1"
JOB_COLUMNS = (
    "workers",
    "gpus of a worker",
    "gpus in all, of the cluster",
    "processors of a worker",
    "memory of a worker",
    "time left",
    "gpu time left",
    "waited",
    "waited over time left",
    "stopped before",
    "feels the network",
    "share of machines that take a worker",
    "workers that fit now, of those it has",
    "one machine takes all",
    "share of its user",
)
MACHINE_COLUMNS = (
    "up",
    "gpus free, of its own",
    "whole gpus free, of its own",
    "gpus free, of the largest",
    "processors free",
    "memory free",
    "price",
    "jobs on it, for each gpu",
    "jobs on it that are spread, for each gpu",
    "speed of its jobs, as expected",
    "gpus free in its rack",
    "feels the network: its jobs",
)
PAIR_COLUMNS = (
    "takes a worker",
    "workers it takes, of the job",
    "takes all",
    "speed of its type",
    "gpus left over",
    "processors left over",
    "memory left over",
    "workers its rack takes, of the job",
    "jobs of the same kind on it",
    "left over of the device",
)
MINUTE_S, HOUR_S = 60.0, 3600.0
ROUND_OFF = 1e-9


class Observed(NamedTuple):
    """How fast running jobs are, against what their GPU types and their network would give alone."""

    run: Ints  # (n,) run index
    machine: Ints  # (n,) where most of its workers stand
    log_ratio: Floats  # (n,) log of measured / expected


class Room:
    """What is free, while jobs of one answer take their places one after another."""

    def __init__(self, info: GpuInfo, view: GpuView) -> None:
        self._info = info
        self.up: Bools = view.machine_up
        self.device = view.device_free.copy()
        self.whole = view.machine_whole_free.copy()
        self.cpus = view.machine_cpus_free.copy()
        self.memory = view.machine_memory_free.copy()

    @property
    def gpus(self) -> Floats:
        found: Floats = self.device.sum(axis=1)
        return found

    def workers(self, gpus: float, cpus: float, memory: float, types: int, kind: int) -> Ints:
        """(M,) workers of these demands that each machine takes."""
        info = self._info
        most = np.full(len(self.cpus), np.inf)
        for need, free in ((cpus, self.cpus), (memory, self.memory)):
            if need > 0.0:
                most = np.minimum(most, np.floor(free / need + ROUND_OFF))
        if gpus >= 1.0:
            most = np.minimum(most, self.whole // int(gpus + ROUND_OFF))
        elif gpus > 0.0:
            most = np.minimum(most, np.floor(self.device / gpus + ROUND_OFF).sum(axis=1))
        allowed = self.up & (info.kind_speed[kind, info.machine_type] > 0.0)
        if types >= 0:
            allowed &= ((types >> info.machine_type) & 1).astype(np.bool_)
        return np.where(allowed, np.minimum(most, 1e6), 0.0).astype(np.int64)

    def take(self, machine: int, gpus: float, cpus: float, memory: float) -> None:
        """One worker stands there now; devices as the world chooses them."""
        self.cpus[machine] -= cpus
        self.memory[machine] -= memory
        device = self.device[machine]
        if gpus >= 1.0:
            taken = np.flatnonzero(device > 1.0 - ROUND_OFF)[: int(gpus + ROUND_OFF)]
            device[taken] = 0.0
        elif gpus > 0.0:
            fits = np.flatnonzero(device >= gpus - ROUND_OFF)
            best = fits[device[fits].argmin()]
            device[best] = max(device[best] - gpus, 0.0)
        self.whole[machine] = int((device > 1.0 - ROUND_OFF).sum())


class GpuFeatures:
    """Of one cluster."""

    def __init__(self, info: GpuInfo) -> None:
        self._info = info
        self._gpus = np.maximum(info.machine_gpus, 1).astype(np.float64)
        self._total_gpus = float(info.machine_gpus.sum())
        self._total = np.array([self._total_gpus, info.machine_cpus.sum(), info.machine_memory.sum()])
        self._racks = int(info.machine_rack.max()) + 1
        self._rack_gpus = np.bincount(info.machine_rack, info.machine_gpus, minlength=self._racks)
        self._price = info.type_price[info.machine_type] / max(float(info.type_price.max()), 1e-9)

    def fitting(self, view: GpuView, room: Room) -> Ints:
        """(J, M) workers that each machine takes of each waiting job."""
        demands = np.stack((view.job_gpus, view.job_cpus, view.job_memory), axis=1)
        keys = np.column_stack((demands, view.job_types, view.job_kind))
        different, which = np.unique(keys, axis=0, return_inverse=True)
        if not len(different):
            return np.zeros((0, len(room.cpus)), np.int64)
        rows = np.stack([room.workers(key[0], key[1], key[2], int(key[3]), int(key[4])) for key in different])
        found: Ints = rows[which.reshape(-1)]
        return found

    def jobs(self, view: GpuView, fitting: Ints) -> Floats:
        """(J, len(JOB_COLUMNS))."""
        info, workers = self._info, view.job_workers.astype(np.float64)
        gpus = workers * view.job_gpus
        area_s = view.job_left_s * np.maximum(gpus, 0.1)
        waited_s = np.maximum(view.time_s - view.job_arrival_s, 0.0)
        fits = np.minimum(fitting, view.job_workers[:, None])
        share = (view.user_used / self._total).max(axis=1) if len(view.user_used) else np.zeros(1)
        columns = (
            np.log2(workers) / 4.0,
            np.log2(1.0 + view.job_gpus) / 2.0,
            gpus / self._total_gpus,
            view.job_cpus / max(float(info.machine_cpus.max()), 1.0),
            view.job_memory / max(float(info.machine_memory.max()), 1.0),
            np.log1p(view.job_left_s / MINUTE_S) / 6.0,
            np.log1p(area_s / MINUTE_S) / 6.0,
            np.log1p(waited_s / MINUTE_S) / 6.0,
            np.log1p(waited_s / np.maximum(view.job_left_s, MINUTE_S)) / 2.0,
            np.minimum(view.job_stops, 3) / 3.0,
            info.kind_network[view.job_kind],
            (fitting > 0).mean(axis=1) if len(fitting) else np.zeros(0),
            np.minimum(fits.sum(axis=1) / workers, 1.0) if len(fitting) else np.zeros(0),
            (fitting >= view.job_workers[:, None]).any(axis=1) if len(fitting) else np.zeros(0),
            share[view.job_user],
        )
        return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)

    def machines(self, view: GpuView, observed: Observed) -> Floats:
        """(M, len(MACHINE_COLUMNS)), as they are before anything of this answer is placed."""
        info, count = self._info, len(view.machine_up)
        spread = np.bincount(view.row_run, minlength=len(view.run_id)) > 1
        on_it = np.bincount(view.row_machine, minlength=count)
        far = np.bincount(view.row_machine, spread[view.row_run], minlength=count)
        feels = np.bincount(view.row_machine, info.kind_network[view.run_kind[view.row_run]], minlength=count)
        seen = np.bincount(observed.machine, minlength=count)
        ratio = np.bincount(observed.machine, observed.log_ratio, minlength=count) / np.maximum(seen, 1)
        in_rack = np.bincount(info.machine_rack, view.machine_gpus_free, minlength=self._racks)
        columns = (
            view.machine_up,
            view.machine_gpus_free / self._gpus,
            view.machine_whole_free / self._gpus,
            view.machine_gpus_free / max(float(self._gpus.max()), 1.0),
            view.machine_cpus_free / np.maximum(info.machine_cpus, 1.0),
            view.machine_memory_free / np.maximum(info.machine_memory, 1.0),
            self._price,
            on_it / self._gpus,
            far / self._gpus,
            ratio,
            (in_rack / np.maximum(self._rack_gpus, 1.0))[info.machine_rack],
            feels / np.maximum(on_it, 1),
        )
        return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)

    def pairs(self, view: GpuView, room: Room, job: int, fits: Ints) -> Floats:
        """(M, len(PAIR_COLUMNS)): job index `job` on each machine, of which each takes `fits` workers."""
        info, workers = self._info, int(view.job_workers[job])
        gpus, kind = float(view.job_gpus[job]), int(view.job_kind[job])
        taken = np.minimum(fits, workers)
        in_rack = np.bincount(info.machine_rack, taken, minlength=self._racks)
        same = view.run_kind[view.row_run] == kind
        speed = info.kind_speed[kind, info.machine_type]
        if 0.0 < gpus < 1.0:
            left = np.where(room.device >= gpus - ROUND_OFF, room.device - gpus, np.inf).min(axis=1)
            device_left = np.where(np.isfinite(left), np.maximum(left, 0.0), 1.0)
        else:
            device_left = np.zeros(len(taken))
        columns = (
            taken > 0,
            taken / workers,
            taken >= workers,
            np.log(np.maximum(speed, 0.05)),
            np.maximum(room.gpus - taken * gpus, 0.0) / self._gpus,
            np.maximum(room.cpus - taken * view.job_cpus[job], 0.0) / np.maximum(info.machine_cpus, 1.0),
            np.maximum(room.memory - taken * view.job_memory[job], 0.0) / np.maximum(info.machine_memory, 1.0),
            np.minimum(in_rack / workers, 2.0)[info.machine_rack],
            np.bincount(view.row_machine, same, minlength=len(taken)) / self._gpus,
            device_left,
        )
        return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)

    def observed(self, view: GpuView) -> Observed:
        """Of every running job."""
        info, runs = self._info, len(view.run_id)
        if not runs:
            return Observed(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        first = np.searchsorted(view.row_run, np.arange(runs))
        types = info.machine_type[view.row_machine]
        alone = info.kind_speed[view.run_kind[view.row_run], types]
        expected = np.full(runs, np.inf)
        np.minimum.at(expected, view.row_run, alone)
        ratio = np.log(np.maximum(view.run_speed, 1e-3) / np.maximum(expected, 1e-3))
        most = first + _longest(view, first)
        return Observed(np.arange(runs), view.row_machine[most], ratio)


def _longest(view: GpuView, first: Ints) -> Ints:
    """(R,) which of its rows has most workers, the first of equals."""
    rows, runs = len(view.row_run), len(first)
    order = np.lexsort((np.arange(rows), -view.row_workers, view.row_run))
    starts = np.searchsorted(view.row_run[order], np.arange(runs))
    found: Ints = order[starts] - first
    return found
