"""A compiled first-come, most-packed scheduler, and workloads with the mix of the public trace, for `gpu_speed.py`.

The scheduler is small and complete: jobs in order of arrival, those that do not fit are passed over; workers go to the
machines with the fewest free GPUs.  A demand that did not fit is remembered while a view is answered, so thousands of
waiting jobs that need as much or more are passed over at the cost of a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuKernel, GpuView, Place, Reason
from dovetail.sim.kernels.gpu_compile import compile_kernel
from dovetail.workloads.gpu import GpuWorkload

MIXED = ("v100x8", "a100x8", "t4x4")
KINDS = 4
REMEMBERED = 64


def pack(view: Any, params: Any, state: Any, starts: Any, machines: Any, scores: Any) -> int:
    """`params`: for each machine its type, for each kind the types it can run on, a bit each."""
    count = view.job_id.shape[0]
    num_machines = view.machine_up.shape[0]
    kinds_at = num_machines
    devices = view.device_free.shape[1]
    device_free = view.device_free
    gpus_free = view.machine_gpus_free
    whole_free = view.machine_whole_free
    cpus_free = view.machine_cpus_free
    memory_free = view.machine_memory_free
    copied = False
    failed = np.empty((REMEMBERED, 5))
    failures = 0
    started = 0
    at = 0
    most_whole = 0
    most_share = 0.0
    open_machines = np.empty(num_machines, np.int64)  # with something left of a GPU
    opened = 0
    for m in range(num_machines):
        most_whole = max(most_whole, whole_free[m])
        if gpus_free[m] > 0.0:
            open_machines[opened] = m
            opened += 1
    if most_whole == 0:
        for i in range(opened):
            m = open_machines[i]
            if gpus_free[m] > most_share:
                for d in range(devices):
                    most_share = max(most_share, device_free[m, d])
    else:
        most_share = 1.0
    for j in range(count):
        gpus = view.job_gpus[j]
        if (gpus >= 1.0 and gpus > most_whole) or (gpus > most_share and gpus < 1.0):
            continue
        cpus = view.job_cpus[j]
        memory = view.job_memory[j]
        allowed = view.job_types[j] & int(params[kinds_at + view.job_kind[j]])
        workers = view.job_workers[j]
        hopeless = False
        for i in range(failures):
            if (
                gpus >= failed[i, 0]
                and cpus >= failed[i, 1]
                and memory >= failed[i, 2]
                and workers >= failed[i, 3]
                and allowed & ~int(failed[i, 4]) == 0
            ):
                hopeless = True
                break
        if hopeless:
            continue
        left = workers
        last_free = -1.0
        last_machine = -1
        wrote = at
        while left > 0:
            best = -1
            best_free = np.inf
            for i in range(opened if gpus > 0.0 else num_machines):
                m = open_machines[i] if gpus > 0.0 else i
                free = gpus_free[m]
                if free >= best_free or free < last_free or (free == last_free and m <= last_machine):
                    continue
                if free + 1e-9 < gpus or (whole_free[m] < gpus and gpus >= 1.0):
                    continue
                if cpus_free[m] + 1e-9 < cpus or memory_free[m] + 1e-9 < memory or not view.machine_up[m]:
                    continue
                if (allowed >> int(params[m])) & 1 == 0:
                    continue
                if gpus > 0.0 and gpus < 1.0:
                    enough = False
                    for d in range(devices):
                        if device_free[m, d] + 1e-9 >= gpus:
                            enough = True
                            break
                    if not enough:
                        continue
                best = m
                best_free = free
            if best == -1:
                break
            room = left
            if cpus > 0.0:
                room = min(room, int((cpus_free[best] + 1e-9) / cpus))
            if memory > 0.0:
                room = min(room, int((memory_free[best] + 1e-9) / memory))
            if gpus >= 1.0:
                room = min(room, whole_free[best] // int(gpus))
            elif gpus > 0.0:
                shares = 0
                for d in range(devices):
                    shares += int((device_free[best, d] + 1e-9) / gpus)
                room = min(room, shares)
            for _ in range(room):
                machines[wrote] = best
                wrote += 1
            left -= room
            last_free = best_free
            last_machine = best
        if left > 0:
            kept = 0  # of those before only the ones that say something else
            for i in range(failures):
                if not (
                    failed[i, 0] >= gpus
                    and failed[i, 1] >= cpus
                    and failed[i, 2] >= memory
                    and failed[i, 3] >= workers
                    and int(failed[i, 4]) & ~allowed == 0
                ):
                    for column in range(5):
                        failed[kept, column] = failed[i, column]
                    kept += 1
            failures = kept
            if failures < REMEMBERED:
                failed[failures, 0] = gpus
                failed[failures, 1] = cpus
                failed[failures, 2] = memory
                failed[failures, 3] = workers
                failed[failures, 4] = allowed
                failures += 1
            continue
        if not copied and j + 1 < count:
            device_free = device_free.copy()
            gpus_free = gpus_free.copy()
            whole_free = whole_free.copy()
            cpus_free = cpus_free.copy()
            memory_free = memory_free.copy()
            copied = True
        if copied:
            for i in range(at, wrote):
                m = machines[i]
                cpus_free[m] -= cpus
                memory_free[m] -= memory
                gpus_free[m] -= gpus
                if gpus >= 1.0:
                    need = int(gpus)
                    whole_free[m] -= need
                    for d in range(devices):
                        if need > 0 and device_free[m, d] >= 1.0 - 1e-9:
                            device_free[m, d] = 0.0
                            need -= 1
                elif gpus > 0.0:
                    chosen = -1
                    for d in range(devices):
                        free = device_free[m, d]
                        if free + 1e-9 >= gpus and (chosen == -1 or free < device_free[m, chosen] - 1e-9):
                            chosen = d
                    if device_free[m, chosen] >= 1.0 - 1e-9:
                        whole_free[m] -= 1
                    device_free[m, chosen] -= gpus
        starts[started, 0] = j
        starts[started, 1] = 1
        starts[started, 2] = 4
        scores[started, 0] = -view.job_arrival_s[j]
        scores[started, 1] = -gpus_free[machines[at]]
        started += 1
        at = wrote
    return started


class Packing:
    """The scheduler around `pack`, which is compiled in both of its ways of deciding."""

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        runs_on = (info.kind_speed > 0) @ (1 << np.arange(info.kind_speed.shape[1]))
        tables = [info.machine_type, runs_on]
        self._kernel = GpuKernel(pack, np.concatenate(tables).astype(np.float64), np.zeros(0, np.int64))
        self._compiled = compile_kernel(self._kernel)

    def kernel(self) -> GpuKernel:
        return self._kernel

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        workers = view.job_workers
        starts = np.zeros((len(workers), 3), np.int64)
        machines, scores = np.zeros(int(workers.sum()), np.int64), np.zeros((len(workers), 2))
        given = GpuView(*(part if np.isscalar(part) else np.array(part) for part in view))  # kernels want them writable
        count = self._compiled(given, self._kernel.params, self._kernel.state, starts, machines, scores)
        ends = np.cumsum(workers[starts[:count, 0]])
        return [
            GpuDecision(
                int(job), machines[end - workers[job] : end], False, Reason(int(reason)), Place(int(place)), *score
            )
            for (job, reason, place), end, score in zip(starts[:count], ends, scores.tolist(), strict=False)
        ]


def trace_like(jobs: int, cluster: GpuCluster, load: float, seed: int) -> GpuWorkload:
    """Mostly one GPU or a share of one, a tail of gangs, run times over four orders of magnitude; Poisson arrivals.

    `load` is the part of the cluster's GPUs that is demanded on average.
    """
    rng = np.random.default_rng(seed)
    gpus = rng.choice(
        [0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 8.0], jobs, p=[0.05, 0.1, 0.12, 0.08, 0.5, 0.07, 0.04, 0.04]
    )
    gang = (gpus >= 1) & (rng.random(jobs) < 0.1)
    workers = np.where(gang, rng.choice([2, 3, 4, 8], jobs), 1)
    work_s = np.exp(rng.normal(np.log(1800.0), 1.5, jobs))
    types = np.where((gpus < 8) & (rng.random(jobs) < 0.2), 0b101, -1)
    demand = float((workers * gpus * work_s).mean())
    every_s = demand / (load * float(cluster.arrays().gpus.sum()))
    return GpuWorkload(
        job_name=tuple(f"j{number}" for number in range(jobs)),
        arrival_s=np.cumsum(rng.exponential(every_s, jobs)),
        user=rng.integers(0, 100, jobs),
        kind=rng.integers(0, KINDS, jobs),
        workers=workers,
        gpus=gpus,
        cpus=np.maximum(1.0, np.round(gpus * rng.choice([4.0, 6.0, 8.0], jobs))),
        memory=np.maximum(2.0, np.round(gpus * rng.choice([16.0, 32.0, 40.0], jobs))),
        types=types,
        work_s=work_s,
        estimate_s=work_s * np.exp(rng.normal(0.0, 0.5, jobs)),
        user_name=tuple(f"u{number}" for number in range(100)),
        kind_name=tuple(f"k{number}" for number in range(KINDS)),
    )


def some_speeds() -> SpeedModel:
    """Numbers of a plausible size: what matters here is that all parts of the formula are at work."""
    rng = np.random.default_rng(0)
    speed = rng.uniform(0.3, 1.8, (KINDS, len(GPU_TYPES)))
    speed[:, 0] = 1.0
    return SpeedModel(
        kind_name=tuple(f"k{number}" for number in range(KINDS)),
        speed=speed,
        network=rng.uniform(0.05, 0.4, KINDS),
        host_pressure=rng.uniform(0.0, 0.05, (KINDS, 3)),
        host_sensitivity=rng.uniform(0.0, 1.0, (KINDS, 3)),
        device_pressure=rng.uniform(0.1, 0.6, (KINDS, 2)),
        device_sensitivity=rng.uniform(0.1, 0.6, (KINDS, 2)),
    )
