"""DAS trying things out: it draws its scores instead of taking their means, and keeps all that learning needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuView, Ints
from dovetail.schedulers.learned.das.forward import Affinity, DasForward, History
from dovetail.schedulers.learned.das.scheduler import Das


class Ordered(NamedTuple):
    """The ordering agent's turn at one decision: at least two jobs might have started."""

    decision: int  # of the episode
    jobs: Floats  # (J, columns)
    machines: Floats  # (M, columns)
    possible: Ints  # job indices that might have started
    drawn: Floats  # (len(possible),)


class PlacedOne(NamedTuple):
    """The placement agent's turn for one job."""

    decision: int
    job_id: int
    nodes: Floats  # (M, columns)
    pairs: Floats  # (M, columns)
    history: History
    possible: np.ndarray  # (M,)
    drawn: Floats  # (M,)
    machine: int  # where most was put, or the first of them


class Explorer(Das):
    """One episode of it is kept; `quiet` takes the means after all."""

    def __init__(self, network: DasForward, rng: np.random.Generator, *, quiet: bool = False) -> None:
        super().__init__(network=network)
        self._rng = rng
        self._quiet = quiet

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self.time_s: list[float] = []
        self.ordered: list[Ordered] = []
        self.placed: list[PlacedOne] = []

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        self._history = None
        self.time_s.append(view.time_s)
        before = len(self.placed)
        decisions = super().decide(view)
        ids = [int(view.job_id[decision.job]) for decision in decisions]
        self.placed[before:] = [
            one._replace(job_id=job_id) for one, job_id in zip(self.placed[before:], ids, strict=True)
        ]
        return decisions

    def _priorities(self, mean: Floats, jobs: Floats, machines: Floats, possible: Ints) -> Floats:
        if self._quiet or len(possible) < 2:
            return mean
        drawn = mean.copy()
        spread = np.exp(self.network.parameters["order.log_std"][0])
        drawn[possible] += spread * self._rng.standard_normal(len(possible))
        self.ordered.append(Ordered(len(self.time_s) - 1, jobs, machines, possible, drawn[possible]))
        return drawn

    def _affinities(self, found: Affinity, nodes: Floats, pairs: Floats, possible: np.ndarray) -> Floats:
        drawn = found.mean
        if not self._quiet:
            posterior = found.posterior
            noise = posterior.factor @ self._rng.standard_normal(posterior.factor.shape[1])
            drawn = found.mean + found.spread * (noise + self._rng.standard_normal(len(noise)))
        if self._history is None:  # the same for all jobs of a decision
            self._history = self._memory.history()
        machine = int(np.where(possible, drawn, -np.inf).argmax())
        self.placed.append(PlacedOne(len(self.time_s) - 1, -1, nodes, pairs, self._history, possible, drawn, machine))
        return drawn

    _history: History | None = None
