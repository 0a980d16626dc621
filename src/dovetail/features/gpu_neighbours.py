"""How jobs that share machines and devices slow each other down, as it was learned: numbers for each kind, compiled.

A job of kind k beside others on its machine is taken to run at 1 / ((1 + h) (1 + d)) of its speed alone, where h sums
what it feels of the others' pressure on the machine (in proportion to their GPUs) and d that on the device it shares:

    h = sum over others of gpus * (feel_k . press_other)
    d = sum over others' workers on the device of (feel'_k . press'_other)

Nobody tells a scheduler these numbers.  They are learned from measured speeds (`training/neighbours`) and travel with a
network; of kinds that it does not know, nothing is expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats
from dovetail.core.stale_code import forget_stale_code
from dovetail.features.gpu_measure import OPTIONS, ROUND_OFF

RACK_HOP = 0.5  # what another rack counts, against another machine: docs/gpu-model.md

forget_stale_code(Path(__file__).parent)


class Neighbours(NamedTuple):
    """Of K kinds, none of them below 0."""

    host_press: Floats  # (K, H) of a GPU's worth of work, on its machine
    host_feel: Floats  # (K, H)
    device_press: Floats  # (K, D) of a worker, on the device it shares
    device_feel: Floats  # (K, D)

    def rows(self, known: Sequence[str], wanted: Sequence[str]) -> Neighbours:
        """The same for the kinds of a workload; zeros for those that are not among `known`."""
        place = {name: row for row, name in enumerate(known)}
        at = np.array([place.get(name, len(known)) for name in wanted], np.int64)
        padded = (np.concatenate((part, np.zeros((1, part.shape[1])))) for part in self)
        return Neighbours(*(np.ascontiguousarray(part[at]) for part in padded))


class Pressure(NamedTuple):
    """What weighs on machines and devices; written to while jobs take their places."""

    host: Floats  # (M, H)
    device: Floats  # (M, D, Q)


@njit(**OPTIONS)
def measure_pressure(view, about):
    """Of all that runs."""
    machines, devices = view.device_free.shape
    host = np.zeros((machines, about.host_press.shape[1]))
    device = np.zeros((machines, devices, about.device_press.shape[1]))
    for p in range(view.row_run.shape[0]):
        r, m, workers = view.row_run[p], view.row_machine[p], view.row_workers[p]
        host[m] += workers * view.run_gpus[r] * about.host_press[view.run_kind[r]]
        if view.row_device[p] >= 0:
            device[m, view.row_device[p]] += workers * about.device_press[view.run_kind[r]]
    return host, device


@njit(**OPTIONS)
def measure_surprise(view, known, about, pressure, ratio):
    """(R,) what is left of `ratio`, the log of measured speed / expected alone, when company and distance are counted.

    What is above 0 is faster than it should be: its machines are in a good mood, or something is not as it was learned.
    nan: its speed is not measured.
    """
    runs = view.run_id.shape[0]
    slowed, machines = np.zeros(runs), np.zeros(runs, np.int64)
    racks, last = np.zeros(runs, np.int64), np.full(runs, -1, np.int64)
    for p in range(view.row_run.shape[0]):
        r, m = view.row_run[p], view.row_machine[p]
        kind = view.run_kind[r]
        own = view.row_workers[p] * view.run_gpus[r] * _dot(about.host_feel[kind], about.host_press[kind])
        here = np.log1p(max(_dot(about.host_feel[kind], pressure.host[m]) - own, 0.0))
        d = view.row_device[p]
        if d >= 0:
            own = view.row_workers[p] * _dot(about.device_feel[kind], about.device_press[kind])
            here += np.log1p(max(_dot(about.device_feel[kind], pressure.device[m, d]) - own, 0.0))
        slowed[r] = max(slowed[r], here)
        if m != last[r]:
            machines[r] += 1
            racks[r] += last[r] < 0 or known.rack[m] != known.rack[last[r]]
            last[r] = m
    found = np.empty(runs)
    for r in range(runs):
        apart = 1.0 - 1.0 / max(machines[r], 1) + RACK_HOP * (1.0 - 1.0 / max(racks[r], 1))
        found[r] = ratio[r] + slowed[r] + np.log1p(known.network[view.run_kind[r]] * apart)
    return found


@njit(**OPTIONS)
def device_for(room, machine, gpus):
    """The device that a share of one would be put on, -1 = none: no share is wanted, or none fits."""
    best = -1
    if 0.0 < gpus < 1.0:
        device = room.device[machine]
        for d in range(device.shape[0]):
            if device[d] + ROUND_OFF >= gpus and (best < 0 or device[d] < device[best]):
                best = d
    return best


@njit(**OPTIONS)
def add_pressure(pressure, about, room, machine, kind, gpus):
    """One worker is about to stand there."""
    pressure.host[machine] += gpus * about.host_press[kind]
    d = device_for(room, machine, gpus)
    if d >= 0:
        pressure.device[machine, d] += about.device_press[kind]


@njit(**OPTIONS)
def measure_neighbours(view, room, about, pressure, job, fits):
    """(M, columns of neighbours) of job index `job`, of which each machine takes `fits` workers."""
    machines = fits.shape[0]
    workers, gpus, kind = view.job_workers[job], view.job_gpus[job], view.job_kind[job]
    left_s = max(view.job_left_s[job], 1.0)
    out = np.zeros((machines, 3))
    device = np.full(machines, -1, np.int64)
    for m in range(machines):
        if fits[m] <= 0:
            continue
        device[m] = device_for(room, m, gpus)
        out[m, 0] = np.log1p(_dot(about.host_feel[kind], pressure.host[m]))
        if device[m] >= 0:
            out[m, 0] += np.log1p(_dot(about.device_feel[kind], pressure.device[m, device[m]]))
    for p in range(view.row_run.shape[0]):
        m = view.row_machine[p]
        if fits[m] <= 0:
            continue
        r = view.row_run[p]
        other = view.run_kind[r]
        held = view.row_workers[p] * view.run_gpus[r]
        feel, press = about.host_feel[other], about.host_press
        before = max(_dot(feel, pressure.host[m]) - held * _dot(feel, press[other]), 0.0)
        slower = np.log1p(min(fits[m], workers) * gpus * _dot(feel, press[kind]) / (1.0 + before))
        if device[m] >= 0 and view.row_device[p] == device[m]:
            feel, press = about.device_feel[other], about.device_press
            own = view.row_workers[p] * _dot(feel, press[other])
            before = max(_dot(feel, pressure.device[m, device[m]]) - own, 0.0)
            slower += np.log1p(_dot(feel, press[kind]) / (1.0 + before))
        harm = slower * min(view.run_left_s[r], left_s) / left_s
        out[m, 1] += harm
        out[m, 2] += harm * view.run_workers[r] * view.run_gpus[r] / max(workers * gpus, 0.1)
    for m in range(machines):
        out[m, 1], out[m, 2] = np.log1p(out[m, 1]), np.log1p(out[m, 2])
    return out


@njit(**OPTIONS)
def _dot(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total
