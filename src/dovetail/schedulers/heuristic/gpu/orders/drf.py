"""Dominant resource fairness among users (Ghodsi et al., NSDI 2011).

The dominant share of a user is the largest of its shares of the cluster's GPUs, processors and memory, held by its
running jobs.  Next is the job after whose start its user's share would be the lowest.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.room import Room, in_turn
from dovetail.schedulers.kernels.gpu_codes import OrderCode


class Drf(OrderPart):
    REASON = Reason.LOWEST_DOMINANT_SHARE
    CODE = OrderCode.DRF
    DYNAMIC = True

    def begin(self, view: GpuView, room: Room) -> Candidates:
        self._used = view.user_used.copy()
        return super().begin(view, room)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        job = candidates.job
        after = self._used[view.job_user[job]] + _demands(view)[job]
        share: Floats = (after / totals(self.info)).max(axis=1, initial=0.0)
        return share

    def started(self, view: GpuView, job: int) -> None:
        self._used[view.job_user[job]] += _demands(view)[job]


def totals(info: GpuInfo) -> Floats:
    """(3,) what the cluster has of each resource; inf where it has none, so that nobody has a share of it."""
    found = np.array(
        [in_turn(part) for part in (info.machine_gpus.astype(float), info.machine_cpus, info.machine_memory)]
    )
    return np.where(found > 0.0, found, np.inf)


def _demands(view: GpuView) -> Floats:
    """(J, 3) of all workers together."""
    each = np.stack([view.job_gpus, view.job_cpus, view.job_memory], axis=1)
    together: Floats = each * view.job_workers[:, None]
    return together
