"""Which kinds of jobs slow each other down, learned from measured speeds: a regression, before anything else.

Jobs are put at random, so that all kinds meet; whenever somebody comes or goes, the speed of every job that stands on
one machine is a sample: its kind k, the GPUs n of each kind beside it on the machine, the workers w of each kind beside
it on the device it shares, and y, the log of measured speed / expected alone.  Fitted is, by Huber's loss,

    y = - log(1 + sum_o n_o (feel_k . press_o)) - log(1 + sum_o w_o (feel'_k . press'_o))

with all numbers at least 0 (softplus).  The form is that of the world's specification (docs/gpu-model.md), but for
network cards, which only gangs on several machines feel; the numbers are not known to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuView, Ints
from dovetail.features.gpu import GpuFeatures
from dovetail.features.gpu_neighbours import Neighbours
from dovetail.sim.gpu import GpuScheduler

STEPS, RATE = 1500, 0.03
SMALL = -4.0  # what numbers begin with, before softplus: next to nothing


class Samples(NamedTuple):
    """N of them, of K kinds."""

    kind: Ints  # (N,)
    log_ratio: Floats  # (N,)
    host: Floats  # (N, K) GPUs of others on the machine
    device: Floats  # (N, K) workers of others on the device

    @classmethod
    def together(cls, parts: Sequence[Samples]) -> Samples:
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Witness:
    """Any scheduler, and what is seen of speeds while it decides."""

    def __init__(self, scheduler: GpuScheduler, kinds: Sequence[str]) -> None:
        self._scheduler = scheduler
        self._kinds = kinds

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._scheduler.reset(info, rng)
        self._features = GpuFeatures(info)
        place = {name: row for row, name in enumerate(self._kinds)}
        self._row = np.array([place.get(name, -1) for name in info.kind_name], np.int64)  # -1: no job is of that kind
        self._last: dict[int, tuple[float, float]] = {}
        self._seen: list[Samples] = []

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        self._look(view)
        return self._scheduler.decide(view)

    def samples(self) -> Samples:
        if not self._seen:  # nothing was measured: jobs that have ended before anybody else came, or gangs alone
            nobody = np.zeros((0, len(self._kinds)))
            return Samples(np.zeros(0, np.int64), np.zeros(0), nobody, nobody)
        return Samples.together(self._seen)

    def _look(self, view: GpuView) -> None:
        """Of jobs with a single row, whose company has changed since they were seen last."""
        ratio, _ = self._features.speeds(view)
        run, machine, device = view.row_run, view.row_machine, view.row_device
        kind, gpus = self._row[view.run_kind[run]], view.row_workers * view.run_gpus[run]
        machines, devices = view.device_free.shape
        on_machine = np.zeros((machines, len(self._kinds)))
        on_device = np.zeros((machines, devices, len(self._kinds)))
        np.add.at(on_machine, (machine, kind), gpus)
        shared = device >= 0
        np.add.at(on_device, (machine[shared], device[shared], kind[shared]), view.row_workers[shared])
        single = np.bincount(run, minlength=len(view.run_id))[run] == 1
        chosen, host, beside = [], [], []
        for row in np.flatnonzero(single).tolist():
            others = on_machine[machine[row]].copy()
            others[kind[row]] -= gpus[row]
            sharing = np.zeros(len(self._kinds))
            if shared[row]:
                sharing = on_device[machine[row], device[row]].copy()
                sharing[kind[row]] -= view.row_workers[row]
            job, company = int(view.run_id[run[row]]), (float(others.sum()), float(sharing.sum()))
            if self._last.get(job) != company:
                self._last[job] = company
                chosen.append(row)
                host.append(others)
                beside.append(sharing)
        if chosen:
            found = Samples(kind[chosen], ratio[run[chosen]], np.array(host), np.array(beside))
            self._seen.append(Samples(found.kind, found.log_ratio, found.host.clip(0.0), found.device.clip(0.0)))


def fit(samples: Samples, host_rank: int, device_rank: int, seed: int) -> tuple[Neighbours, float]:
    """What explains the samples, and the root of the mean squared error that is left."""
    generator = torch.Generator().manual_seed(seed)
    kinds = samples.host.shape[1]

    def fresh(rank: int) -> torch.Tensor:
        drawn = torch.randn((kinds, rank), dtype=torch.float64, generator=generator)
        return (SMALL / 2 + 0.5 * drawn).requires_grad_()

    raw = [fresh(host_rank), fresh(host_rank), fresh(device_rank), fresh(device_rank)]
    kind, y, host, device = map(torch.as_tensor, samples)
    optimiser = torch.optim.Adam(raw, lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)

    def predicted() -> torch.Tensor:
        press, feel, device_press, device_feel = map(functional.softplus, raw)
        on_host = (feel[kind] * (host @ press)).sum(dim=1)
        on_device = (device_feel[kind] * (device @ device_press)).sum(dim=1)
        return -torch.log1p(on_host) - torch.log1p(on_device)

    for _ in range(STEPS):
        optimiser.zero_grad()
        functional.huber_loss(predicted(), y, delta=0.2).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        error = float((predicted() - y).pow(2).mean().sqrt())
        found = Neighbours(*(functional.softplus(part).numpy().copy() for part in raw))
    return found, error
