"""The view of the plain-Python gpu world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dovetail.core.gpu import Floats, GpuView, Ints
from dovetail.testing.gpu_reference_referee import Free
from dovetail.testing.gpu_reference_state import Job, Machine, State


def ints(values: Iterable[Any]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def floats(values: Iterable[Any]) -> Floats:
    return np.array(list(values), dtype=np.float64)


def rows_of(job: Job) -> list[tuple[int, int, int]]:
    """(machine, device, workers), in the order in which its workers came to stand there."""
    rows: dict[tuple[int, int], int] = {}
    for worker in job.placed:
        device = worker.devices[0] if 0 < job.gpus < 1 else -1
        rows[worker.machine, device] = rows.get((worker.machine, device), 0) + 1
    return [(machine, device, workers) for (machine, device), workers in rows.items()]


def build_view(
    now_s: float, jobs: Sequence[Job], waiting: Sequence[Job], running: Sequence[Job], machines: Sequence[Machine]
) -> GpuView:
    free = Free(machines, running)
    rows = [(place, *row) for place, job in enumerate(running) for row in rows_of(job)]
    devices = np.zeros((len(machines), max(machine.gpus for machine in machines)))
    for number, shares in enumerate(free.devices):
        devices[number, : len(shares)] = shares
    users = 1 + max(job.user for job in jobs if job.state is not State.TO_COME)
    used = np.zeros((users, 3))
    for job in running:
        used[job.user] += job.workers * np.array([job.gpus, job.cpus, job.memory])
    view = GpuView(
        time_s=now_s,
        job_id=ints(job.number for job in waiting),
        job_arrival_s=floats(job.arrival_s for job in waiting),
        job_user=ints(job.user for job in waiting),
        job_kind=ints(job.kind for job in waiting),
        job_workers=ints(job.workers for job in waiting),
        job_gpus=floats(job.gpus for job in waiting),
        job_cpus=floats(job.cpus for job in waiting),
        job_memory=floats(job.memory for job in waiting),
        job_types=ints(job.types for job in waiting),
        job_left_s=floats(job.known_left_s(job.done_s) for job in waiting),
        job_served_s=floats(job.served_s for job in waiting),
        job_stops=ints(job.stops for job in waiting),
        run_id=ints(job.number for job in running),
        run_arrival_s=floats(job.arrival_s for job in running),
        run_start_s=floats(job.start_s for job in running),
        run_user=ints(job.user for job in running),
        run_kind=ints(job.kind for job in running),
        run_workers=ints(job.workers for job in running),
        run_gpus=floats(job.gpus for job in running),
        run_cpus=floats(job.cpus for job in running),
        run_memory=floats(job.memory for job in running),
        run_types=ints(job.types for job in running),
        run_left_s=floats(job.known_left_s(job.done_at(now_s)) for job in running),
        run_served_s=floats(job.served_s + (now_s - job.start_s) * job.workers * job.gpus for job in running),
        run_speed=floats(job.speed for job in running),
        row_run=ints(row[0] for row in rows),
        row_machine=ints(row[1] for row in rows),
        row_workers=ints(row[3] for row in rows),
        row_device=ints(row[2] for row in rows),
        machine_up=np.array([machine.up for machine in machines]),
        device_free=devices,
        machine_gpus_free=floats(sum(shares) for shares in free.devices),
        machine_whole_free=ints(len(free.whole(number)) for number in range(len(machines))),
        machine_cpus_free=floats(free.cpus),
        machine_memory_free=floats(free.memory),
        user_used=used,
    )
    for part in view[1:]:
        part.flags.writeable = False
    return view
