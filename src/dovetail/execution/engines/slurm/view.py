"""Slurm's queue and nodes as the view that schedulers are given.

What Slurm does not know is said in the mildest way: a running job is as fast as its kind is alone on the slowest of its
types of GPUs, of which schedulers are told that nobody measured it (`GpuInfo.speed_is_measured`), and a job that starts
again starts from the beginning.  Jobs of others that run on the same machines are in the view too, for they press on
them and end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, GpuView, Ints
from dovetail.execution.engines.slurm.cluster import MAX_USERS, Cluster
from dovetail.execution.engines.slurm.estimates import Estimates
from dovetail.execution.engines.slurm.gres import Gres, counted, gigabytes, parse_gres
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.room import Room
from dovetail.execution.engines.slurm.shape import Shape


class Waiting(NamedTuple):
    job: SlurmJob
    shape: Shape
    stops: int = 0


class Row(NamedTuple):
    machine: int
    workers: int
    device: int  # that is shared; -1: whole ones, or none


class Running(NamedTuple):
    job: SlurmJob
    shape: Shape
    rows: tuple[Row, ...]


class Numbers:
    """Lasting numbers for jobs and users, counted from 0 as they come."""

    def __init__(self, origin_s: float) -> None:
        self.origin_s = origin_s
        self._jobs: dict[int, int] = {}
        self._users: dict[str, int] = {}

    def job(self, job: SlurmJob) -> int:
        return self._jobs.setdefault(job.job_id, len(self._jobs))

    def user(self, job: SlurmJob) -> int:
        return self._users.setdefault(job.user, min(len(self._users), MAX_USERS - 1))

    @property
    def users(self) -> int:
        return min(len(self._users), MAX_USERS)


def running_of(job: SlurmJob, cluster: Cluster, kind: int, shape: Shape | None = None) -> Running | None:
    """A job that holds nodes of the cluster, by what Slurm gave it; `shape` is what it asked for, if that is known."""
    held = [
        (cluster.machine[node], parse_gres(text))
        for node, text in zip(job.nodes, (*job.gres_held, *("",) * len(job.nodes)), strict=False)
        if node in cluster.machine
    ]
    if not held:
        return None
    if shape is None:
        gpus = [_gpus_held(gres, cluster.shards) for _, gres in held]
        memory_mb = job.tres.get("mem", 0.0) / len(held)
        shape = Shape(len(held), max(gpus), job.cpus / len(held), gigabytes(memory_mb), kind=kind)
    shares = _shares(shape.workers, [counted(gres, "gpu") / shape.gpus if shape.gpus >= 1 else 1.0 for _, gres in held])
    rows: list[Row] = []
    for (machine, gres), workers in zip(held, shares, strict=True):
        devices = [device for one in gres if one.name == "shard" for device in one.devices] or [-1]
        rows += [Row(machine, workers, device) for device in devices[:1]]
    return Running(job, shape, tuple(rows))


def _gpus_held(gres: tuple[Gres, ...], shards: int) -> float:
    return counted(gres, "gpu") + (counted(gres, "shard") / shards if shards else 0.0)


def _shares(workers: int, weights: Sequence[float]) -> list[int]:
    """So many workers on each machine, at least one, in proportion to the weights."""
    total = sum(weights) or 1.0
    shares = [max(1, round(workers * weight / total)) for weight in weights]
    shares[0] = max(1, shares[0] + workers - sum(shares))
    return shares


def view_of(
    cluster: Cluster,
    room: Room,
    waiting: Sequence[Waiting],
    running: Sequence[Running],
    now_s: float,
    numbers: Numbers,
    estimates: Estimates,
) -> GpuView:
    """Waiting jobs come by arrival, running ones by start."""
    origin_s = numbers.origin_s
    rows = [(index, row) for index, one in enumerate(running) for row in one.rows]
    speed = _floats(_expected_speed(cluster, one) for one in running)
    arrays: dict[str, Any] = {
        "job_id": _ints(numbers.job(one.job) for one in waiting),
        "job_arrival_s": _floats(one.job.submit_s - origin_s for one in waiting),
        "job_user": _ints(numbers.user(one.job) for one in waiting),
        "job_left_s": _floats(estimates.of(one.job) for one in waiting),
        "job_served_s": np.zeros(len(waiting)),
        "job_stops": _ints(one.stops for one in waiting),
        **_demands("job", [one.shape for one in waiting]),
        "run_id": _ints(numbers.job(one.job) for one in running),
        "run_arrival_s": _floats(one.job.submit_s - origin_s for one in running),
        "run_start_s": _floats(one.job.start_s - origin_s for one in running),
        "run_user": _ints(numbers.user(one.job) for one in running),
        # of the time that is left, what would be left at speed 1: divided by its speed it is that time again
        "run_left_s": speed * _floats(estimates.left(one.job, now_s) for one in running),
        "run_served_s": _floats(
            one.shape.workers * one.shape.gpus * max(0.0, now_s - one.job.start_s) for one in running
        ),
        "run_speed": speed,
        **_demands("run", [one.shape for one in running]),
        "row_run": _ints(index for index, _ in rows),
        "row_machine": _ints(row.machine for _, row in rows),
        "row_workers": _ints(row.workers for _, row in rows),
        "row_device": _ints(row.device for _, row in rows),
        "machine_up": room.up.copy(),
        "device_free": room.devices.copy(),
        "machine_gpus_free": room.devices.sum(axis=1),
        "machine_whole_free": room.whole,
        "machine_cpus_free": room.cpus.copy(),
        "machine_memory_free": room.memory.copy(),
    }
    used = np.zeros((max(1, numbers.users), 3))
    for one in running:
        shape = one.shape
        used[numbers.user(one.job)] += shape.workers * np.array([shape.gpus, shape.cpus, shape.memory])
    arrays["user_used"] = used
    for array in arrays.values():
        array.flags.writeable = False
    return GpuView(time_s=now_s - origin_s, **arrays)


def _expected_speed(cluster: Cluster, one: Running) -> float:
    """Alone on the slowest of its types; 1 where its kind is said not to run at all, for it does."""
    info = cluster.info
    slowest = min(float(info.kind_speed[one.shape.kind, info.machine_type[row.machine]]) for row in one.rows)
    return slowest if slowest > 0 else 1.0


def _demands(side: str, shapes: Sequence[Shape]) -> dict[str, Any]:
    return {
        f"{side}_kind": _ints(shape.kind for shape in shapes),
        f"{side}_workers": _ints(shape.workers for shape in shapes),
        f"{side}_gpus": _floats(shape.gpus for shape in shapes),
        f"{side}_cpus": _floats(shape.cpus for shape in shapes),
        f"{side}_memory": _floats(shape.memory for shape in shapes),
        f"{side}_types": _ints(shape.types for shape in shapes),
    }


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


def _floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), np.float64)
