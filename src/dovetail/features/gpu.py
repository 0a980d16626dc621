"""What a learned policy of the gpu family sees: jobs, machines, and each job on each machine, as numbers near 1.

The only feature code of this family: environments, `gpu/das` and live engines share it.  The set of columns is named
and versioned; a checkpoint that was trained on others is refused.  `gpu_measure` computes them.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView, Ints
from dovetail.features.gpu_arrivals import Arrivals, asked_by_shorter, notice
from dovetail.features.gpu_measure import (
    MINUTE_S,
    Known,
    Queue,
    Room,
    all_that_fit,
    measure_jobs,
    measure_machines,
    measure_pairs,
    measure_speeds,
    measure_start,
    take,
    workers_that_fit,
)

FEATURES = "cloud-3"
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
NEIGHBOUR_COLUMNS = ("slowed by neighbours", "slows its neighbours", "slows its neighbours, for each gpu")
"""As they are expected to by what was learned of kinds (`gpu_neighbours`)."""
START_COLUMNS = (
    "one",
    "needs no gpu",
    "time left",
    "gpus in all, of the cluster",
    "waited over time left",
    "gpus free after it",
    "gpus free after it x time left",
    "whole machines free after it",
    "machines more than it needs",
    "slower for want of one machine",
    "speed of the types free, of the best",
    "jobs waiting",
    "gpus wanted by those waiting",
    "gpus of the largest passed over",
    "gpus held by those that last longer",
    "time until the next ends",
    "gpus that much shorter ones ask for",
)
"""Of a job that might start now: what speaks for starting it, and what for letting it wait."""


def measured_wait(seconds: Floats) -> Floats:
    """Waiting times as the columns of jobs have them."""
    found: Floats = np.log1p(seconds / MINUTE_S) / 6.0
    return found


class GpuFeatures:
    """Of one cluster, for callers in Python."""

    def __init__(self, info: GpuInfo) -> None:
        self.known = Known.of(info)

    def fitting(self, view: GpuView, room: Room) -> tuple[Ints, Bools]:
        """(J, M) workers that each machine takes of each waiting job; (J,) whether all its workers find a place."""
        fits, possible = all_that_fit(view, room, self.known)
        return fits, possible

    def workers(self, view: GpuView, room: Room, job: int) -> Ints:
        """(M,) workers of one waiting job that each machine takes now."""
        found = np.empty(len(self.known.type), np.int64)
        demands = (view.job_gpus[job], view.job_cpus[job], view.job_memory[job], view.job_types[job])
        workers_that_fit(room, self.known, *demands, view.job_kind[job], found)
        return found

    def notice(self, view: GpuView, arrivals: Arrivals) -> None:
        """Before anything is asked that depends on who came before."""
        notice(arrivals, view)

    def start(self, view: GpuView, room: Room, queue: Queue, arrivals: Arrivals, job: int, fits: Ints) -> Floats:
        """(len(START_COLUMNS),) of a job whose workers all find a place."""
        asked = asked_by_shorter(arrivals, view.time_s, view.job_left_s[job], self.known.total[0])
        found: Floats = measure_start(view, self.known, room, queue, asked, job, fits)
        return found

    def take(self, view: GpuView, room: Room, job: int, machines: Ints) -> None:
        """Workers of this job stand there now."""
        for machine in machines.tolist():
            take(room, machine, view.job_gpus[job], view.job_cpus[job], view.job_memory[job])

    def jobs(self, view: GpuView, fits: Ints) -> Floats:
        """(J, len(JOB_COLUMNS))."""
        found: Floats = measure_jobs(view, self.known, fits)
        return found

    def speeds(self, view: GpuView) -> tuple[Floats, Ints]:
        """(R,) log of measured speed / expected alone on its types, nan: not measured; (R,) machine with most of its
        workers."""
        ratio, main = measure_speeds(view, self.known)
        return ratio, main

    def machines(self, view: GpuView, ratio: Floats, main: Ints) -> Floats:
        """(M, len(MACHINE_COLUMNS)), as they are before anything of this answer is placed; the rest is of `speeds`."""
        found: Floats = measure_machines(view, self.known, ratio, main)
        return found

    def pairs(self, view: GpuView, room: Room, job: int, fits: Ints) -> Floats:
        """(M, len(PAIR_COLUMNS)): job index `job` on each machine, of which each takes `fits` workers."""
        found: Floats = measure_pairs(view, self.known, room, job, fits)
        return found


__all__ = [
    "FEATURES",
    "JOB_COLUMNS",
    "MACHINE_COLUMNS",
    "NEIGHBOUR_COLUMNS",
    "PAIR_COLUMNS",
    "START_COLUMNS",
    "Arrivals",
    "GpuFeatures",
    "Queue",
    "Room",
    "measured_wait",
]
