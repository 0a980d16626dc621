"""Two small schedulers that keep to the contract, one the opposite of the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, Place, Reason


class FifoFirstFit:
    """Jobs by arrival, each on the first machines with room; those that do not fit are passed over."""

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self.info = info

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        devices = view.device_free.copy()
        cpus, memory = view.machine_cpus_free.copy(), view.machine_memory_free.copy()
        decisions = []
        for job in self.order(view):
            before = devices.copy(), cpus.copy(), memory.copy()
            machines = [self._place(view, job, devices, cpus, memory) for _ in range(view.job_workers[job])]
            if -1 in machines:
                devices, cpus, memory = before
                continue
            decisions.append(GpuDecision(int(job), np.array(machines), reason=self.REASON, place=self.PLACE))
        return decisions

    REASON, PLACE = Reason.FIRST_ARRIVED, Place.FIRST_FIT

    def order(self, view: GpuView) -> Sequence[int]:
        return range(len(view.job_id))

    def prefer(self, devices: np.ndarray, fitting: np.ndarray) -> int:
        return int(fitting[0])

    def _place(self, view: GpuView, job: int, devices: np.ndarray, cpus: np.ndarray, memory: np.ndarray) -> int:
        gpus = view.job_gpus[job]
        fits = view.machine_up & (cpus >= view.job_cpus[job] - 1e-9) & (memory >= view.job_memory[job] - 1e-9)
        if view.job_types[job] >= 0:
            fits &= (view.job_types[job] >> self.info.machine_type) & 1 == 1
        if gpus >= 1:
            fits &= (devices >= 1 - 1e-9).sum(axis=1) >= gpus
        elif gpus > 0:
            fits &= devices.max(axis=1) >= gpus - 1e-9
        if not fits.any():
            return -1
        machine = self.prefer(devices, np.flatnonzero(fits))
        cpus[machine] -= view.job_cpus[job]
        memory[machine] -= view.job_memory[job]
        if gpus >= 1:
            devices[machine, np.flatnonzero(devices[machine] >= 1 - 1e-9)[: round(gpus)]] = 0.0
        elif gpus > 0:
            enough = np.flatnonzero(devices[machine] >= gpus - 1e-9)
            devices[machine, enough[devices[machine, enough].argmin()]] -= gpus
        return machine


class ShortestMostFree(FifoFirstFit):
    """The shortest first, where the most GPUs are free."""

    REASON, PLACE = Reason.SHORTEST, Place.MOST_FREE

    def order(self, view: GpuView) -> Sequence[int]:
        return [int(job) for job in np.argsort(view.job_left_s, kind="stable")]

    def prefer(self, devices: np.ndarray, fitting: np.ndarray) -> int:
        return int(fitting[devices[fitting].sum(axis=1).argmax()])


class Idle(FifoFirstFit):
    """Starts nothing."""

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return ()
