"""Small gpu workloads and speed models for tests: by hand, and drawn at random."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.errors import ConfigError
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, Place, Reason
from dovetail.sim.gpu.prepare import check_fit
from dovetail.workloads.gpu import GpuWorkload

TYPES = len(GPU_TYPES)


class ToyJob(NamedTuple):
    work: float = 100.0
    gpus: float = 1.0
    workers: int = 1
    arrival: float = 0.0
    cpus: float = 1.0
    memory: float = 1.0
    kind: int = 0
    user: int = 0
    types: int = -1
    estimate: float | None = None


def toy_workload(jobs: list[ToyJob], kinds: int = 2) -> GpuWorkload:
    def column(name: str, kind: type) -> np.ndarray:
        return np.array([getattr(job, name) for job in jobs], dtype=kind)

    return GpuWorkload(
        job_name=tuple(f"job-{number}" for number in range(len(jobs))),
        arrival_s=column("arrival", float),
        user=column("user", np.int64),
        kind=column("kind", np.int64),
        workers=column("workers", np.int64),
        gpus=column("gpus", float),
        cpus=column("cpus", float),
        memory=column("memory", float),
        types=column("types", np.int64),
        work_s=column("work", float),
        estimate_s=np.array([job.work if job.estimate is None else job.estimate for job in jobs]),
        user_name=tuple(f"user-{number}" for number in range(1 + max((job.user for job in jobs), default=0))),
        kind_name=tuple(f"kind-{number}" for number in range(kinds)),
    )


def toy_model(kinds: int = 2, **changes: object) -> SpeedModel:
    """Nothing slows anybody down, except for what is given."""
    plain = SpeedModel(
        kind_name=tuple(f"kind-{number}" for number in range(kinds)),
        speed=np.ones((kinds, TYPES)),
        network=np.zeros(kinds),
        host_pressure=np.zeros((kinds, 3)),
        host_sensitivity=np.zeros((kinds, 3)),
        device_pressure=np.zeros((kinds, 2)),
        device_sensitivity=np.zeros((kinds, 2)),
    )
    return replace(plain, **{name: np.asarray(value, dtype=float) for name, value in changes.items()})


def random_model(rng: np.random.Generator, kinds: int = 3) -> SpeedModel:
    speed = rng.uniform(0.2, 2.0, (kinds, TYPES))
    speed[rng.random(speed.shape) < 0.1] = 0.0
    speed[:, 0] = np.maximum(speed[:, 0], 0.1)
    return toy_model(
        kinds,
        speed=speed,
        network=rng.uniform(0, 1, kinds),
        host_pressure=rng.uniform(0, 0.3, (kinds, 3)),
        host_sensitivity=rng.uniform(0, 1, (kinds, 3)),
        device_pressure=rng.uniform(0, 1, (kinds, 2)),
        device_sensitivity=rng.uniform(0, 1, (kinds, 2)),
        machine_hop=0.7,
        rack_hop=1.3,
    )


def random_jobs(
    rng: np.random.Generator, count: int, cluster: GpuCluster, model: SpeedModel, *, ties: bool
) -> GpuWorkload:
    """Jobs that fit the cluster: CPU-only, shares, whole GPUs, gangs, some bound to types.

    With `ties` all times are multiples of 10, so that much happens at once.
    """
    kinds, jobs = len(model.kind_name), []
    arrival = 0.0
    while len(jobs) < count:
        arrival += float(rng.choice([0, 0, 10, 20, 50]) if ties else rng.choice([0.0, rng.exponential(30.0)]))
        job = ToyJob(
            work=float(rng.integers(1, 30) * 10 if ties else rng.uniform(5.0, 400.0)),
            gpus=float(rng.choice([0, 0.1, 0.25, 0.3, 0.5, 0.7, 1, 1, 2, 3, 4])),
            workers=int(rng.choice([1, 1, 1, 2, 3, 5])),
            arrival=arrival,
            cpus=float(rng.choice([0, 1, 2.5, 7.3])),
            memory=float(rng.choice([0, 3.3, 40, 90])),
            kind=int(rng.integers(kinds)),
            user=int(rng.integers(4)),
            types=int(rng.choice([-1, -1, -1, 0b1, 0b101, 0b11110])),
            estimate=float(rng.choice([30.0, 100.0, 300.0])),
        )
        try:
            check_fit(toy_workload([job], kinds), np.array([job.kind]), model, cluster.arrays())
        except ConfigError:
            continue
        jobs.append(job)
    return toy_workload(jobs, kinds)


class RandomPlacer:
    """Starts some of the jobs that fit, on machines drawn at random, and stops some where it may."""

    def __init__(self, info: GpuInfo, rng: np.random.Generator, eager: float = 0.7) -> None:
        self.info = info
        self.rng = rng
        self.eager = eager

    def decide(self, view: GpuView) -> list[GpuDecision]:
        free = [view.device_free.copy(), view.machine_cpus_free.copy(), view.machine_memory_free.copy()]
        found = []
        if self.info.preemption and len(view.run_id) and self.rng.random() < 0.2:
            picked = self.rng.choice(len(view.run_id), size=min(2, len(view.run_id)), replace=False)
            found = [GpuDecision(int(run), np.zeros(0, np.int64), True, Reason.MAKES_ROOM) for run in picked]
        for job in self.rng.permutation(len(view.job_id)):
            if self.rng.random() > self.eager:
                continue
            after = [part.copy() for part in free]
            machines = self._places(view, int(job), after)
            if machines is not None:
                free = after
                found.append(self._said(int(job), machines))
        return found

    def first_that_fits(self, view: GpuView) -> list[GpuDecision]:
        """One job, for when something has to be started."""
        for job in range(len(view.job_id)):
            free = [view.device_free.copy(), view.machine_cpus_free.copy(), view.machine_memory_free.copy()]
            machines = self._places(view, job, free, shuffle=False)
            if machines is not None:
                return [self._said(job, machines)]
        return []

    def _said(self, job: int, machines: list[int]) -> GpuDecision:
        place, priority = Place.DRAWN_AT_RANDOM, float(self.rng.random())
        return GpuDecision(job, np.array(machines), False, Reason.DRAWN_AT_RANDOM, place, priority)

    def _places(self, view: GpuView, job: int, free: list[np.ndarray], *, shuffle: bool = True) -> list[int] | None:
        order = self.rng.permutation(len(view.machine_up)) if shuffle else np.arange(len(view.machine_up))
        spread = shuffle and self.rng.random() < 0.5
        machines: list[int] = []
        for _ in range(int(view.job_workers[job])):
            machine = next((int(m) for m in order if self._takes(view, job, int(m), free)), None)
            if machine is None:
                return None
            machines.append(machine)
            if spread:
                order = np.roll(order, -1)
        return machines

    def _takes(self, view: GpuView, job: int, m: int, free: list[np.ndarray]) -> bool:
        devices, cpus, memory = free
        kind, gpus = int(self.info.machine_type[m]), float(view.job_gpus[job])
        mask = int(view.job_types[job])
        if not view.machine_up[m] or (mask != -1 and not mask >> kind & 1):
            return False
        if self.info.kind_speed[view.job_kind[job], kind] == 0:
            return False
        if cpus[m] + 1e-9 < view.job_cpus[job] or memory[m] + 1e-9 < view.job_memory[job]:
            return False
        if gpus >= 1:
            whole = np.flatnonzero(devices[m] >= 1 - 1e-9)
            if len(whole) < gpus:
                return False
            devices[m, whole[: int(gpus)]] = 0.0
        elif gpus > 0:
            fits = np.flatnonzero(devices[m] + 1e-9 >= gpus)
            if not len(fits):
                return False
            devices[m, fits[np.argmin(np.round(devices[m, fits], 9))]] -= gpus
        cpus[m] -= view.job_cpus[job]
        memory[m] -= view.job_memory[job]
        return True
