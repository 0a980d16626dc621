"""What gpu/dl2 sees: six numbers of each of the first twenty waiting jobs, and which of them may be chosen."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView
from dovetail.schedulers.heuristic.gpu.orders.drf import totals
from dovetail.schedulers.heuristic.gpu.room import Need, Room

NAME = "dl2-1"
COLUMNS = ("kind", "waited", "left", "dominant_share", "workers", "gpus")
JOBS = 20
RULES = 3  # ways to start a job
ACTIONS = RULES * JOBS + 1  # the last is to stop
STOP = ACTIONS - 1


def job_numbers(view: GpuView, info: GpuInfo) -> Floats:
    """(20, 6) of the first waiting jobs; 0 where there is none."""
    found = np.zeros((JOBS, len(COLUMNS)))
    count = min(JOBS, len(view.job_id))
    workers, gpus = view.job_workers[:count], view.job_gpus[:count]
    each = np.stack([gpus, view.job_cpus[:count], view.job_memory[:count]], axis=1)
    found[:count, 0] = (view.job_kind[:count] + 1) / len(info.kind_name)
    found[:count, 1] = np.log1p(view.time_s - view.job_arrival_s[:count]) / 10.0
    found[:count, 2] = np.log1p(view.job_left_s[:count]) / 10.0
    found[:count, 3] = (each * workers[:, None] / totals(info)).max(axis=1, initial=0.0)
    found[:count, 4] = np.log2(workers) / 4.0 + 0.1
    found[:count, 5] = np.minimum(gpus, 8.0) / 4.0
    return found


def which_fit(view: GpuView, info: GpuInfo, room: Room, chosen: set[int]) -> Bools:
    """(20,) which of them fit now and have not been chosen yet."""
    found = np.zeros(JOBS, np.bool_)
    for job in range(min(JOBS, len(view.job_id))):
        if job not in chosen:
            need = Need.of(view, info, job)
            found[job] = int(room.capacity(need).sum()) >= need.workers
    return found


def mask_of(fit: Bools, may_stop: bool) -> Bools:
    """(61,) actions that may be taken."""
    mask = np.append(np.repeat(fit, RULES), may_stop)
    return mask


def inputs_of(numbers: Floats, fit: Bools, chosen: set[int]) -> Floats:
    """(120,) a job that has been chosen is no longer there; one that does not fit now is seen from a distance."""
    rows = numbers.copy()
    rows[list(chosen)] = 0.0
    rows[:, 3] = np.where(fit, rows[:, 3], rows[:, 3] + 2.0 * (rows[:, 0] > 0.0))
    return rows.ravel()
