"""What gpu/rifling tells apart: coarse states of a job and a machine, numbered."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, Ints
from dovetail.schedulers.heuristic.gpu.room import TOLERANCE, Need, Room

SIZES = {
    "gpus": 5,  # none, a share, one, two or three, four and more
    "gang": 2,  # one worker, several
    "network": 2,  # whether the kind suffers from being apart more than the median kind
    "load": 3,  # GPUs of the machine in use: none, up to half, more
    "whole": 2,  # whether whole devices are left once the worker stands there
    "speed": 3,  # of the type, relative to the fastest: below 0.6, below 0.9, above
    "together": 4,  # first worker; the others so far: here, in this rack, elsewhere
    "cpus": 2,  # whether a quarter of the processors is left
}
STATES = int(np.prod(list(SIZES.values())))


def states(room: Room, info: GpuInfo, need: Need, placed: list[int]) -> Ints:
    """(M,) of the machines, for the next worker of a job whose earlier ones stand on `placed`."""
    machines = len(room.gpus)
    has = np.maximum(info.machine_gpus, 1)
    used = 1.0 - room.gpus / has
    whole_left = room.whole - _whole_taken(room, need)
    parts = {
        "gpus": np.full(machines, _class_of(need.gpus)),
        "gang": np.full(machines, int(need.workers > 1)),
        "network": np.full(machines, int(info.kind_network[need.kind] > np.median(info.kind_network))),
        "load": (used > TOLERANCE).astype(np.int64) + (used > 0.5),
        "whole": (whole_left > 0).astype(np.int64),
        "speed": _speed_class(info, need),
        "together": _together(info, placed, machines),
        "cpus": (room.cpus - need.cpus >= 0.25 * info.machine_cpus).astype(np.int64),
    }
    number = np.zeros(machines, np.int64)
    for name, size in SIZES.items():
        number = number * size + parts[name]
    return number


def _class_of(gpus: float) -> int:
    if gpus <= 0.0:
        return 0
    return 1 if gpus < 1.0 else 2 if gpus < 2.0 else 3 if gpus < 4.0 else 4


def _whole_taken(room: Room, need: Need) -> Ints:
    """(M,) wholly free devices that the worker would take from each; a share takes none if a used device suffices."""
    if need.gpus >= 1.0 or need.gpus <= 0.0:
        return np.full(len(room.gpus), int(need.gpus))
    broken = (room.device < 1.0 - TOLERANCE) & (room.device + TOLERANCE >= need.gpus)
    return np.where(broken.any(axis=1), 0, 1)


def _speed_class(info: GpuInfo, need: Need) -> Ints:
    speed: Floats = np.where(need.allowed, info.kind_speed[need.kind], 0.0)[info.machine_type]
    relative = speed / max(float(speed.max()), 1e-9)
    return (relative >= 0.6).astype(np.int64) + (relative >= 0.9)


def _together(info: GpuInfo, placed: list[int], machines: int) -> Ints:
    if not placed:
        return np.zeros(machines, np.int64)
    found = np.full(machines, 3, np.int64)
    found[np.isin(info.machine_rack, info.machine_rack[placed])] = 2
    found[placed] = 1
    return found
