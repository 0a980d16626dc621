"""DAS trying things out: it draws its scores instead of taking their means, and keeps all that learning needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuDecision, GpuInfo, GpuView, Ints, Place, Reason
from dovetail.features.gpu import GpuFeatures, Room
from dovetail.schedulers.learned.das.forward import ORDER_STD, PLACE_STD, RACK, DasForward, affinity, priorities
from dovetail.schedulers.learned.das.kernel import fill, nodes_of
from dovetail.schedulers.learned.das.memory import Memory, observe, recalled, remember
from dovetail.schedulers.learned.das.random_walk import Posterior


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
    nodes: Floats  # (M + n, columns): machines, then what was remembered
    rack: Ints  # (M + n,)
    log_ratio: Floats  # (n,)
    possible: Bools  # (M,)
    drawn: Floats  # (M,)
    machine: int  # where the first worker was put


class Explorer:
    """Decides as `Das` does, with noise, step by step; `das.kernel.choose` is the same without.  Keeps one episode."""

    def __init__(self, network: DasForward, rng: np.random.Generator) -> None:
        self._network = network
        self._rng = rng

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._features = GpuFeatures(info)
        self._memory = Memory.empty(self._network.shape.history)
        self.time_s: list[float] = []
        self.ordered: list[Ordered] = []
        self.placed: list[PlacedOne] = []

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        features, weights, memory = self._features, self._network.weights, self._memory
        room = Room.of(view)
        fits, possible = features.fitting(view, room)
        if not possible.any():
            return ()
        self.time_s.append(view.time_s)
        ratio, main = features.speeds(view)
        observe(memory, view.run_id, ratio)
        jobs = features.jobs(view, fits)
        state = features.machines(view, ratio, main)
        priority = self._priorities(jobs, state, np.flatnonzero(possible))
        recall, rack = recalled(memory), features.known.rack
        decisions: list[GpuDecision] = []
        for job in np.argsort(-priority, kind="stable").tolist():
            if not possible[job]:
                continue
            free, workers = fits[job], int(view.job_workers[job])
            if decisions:  # others have been placed meanwhile
                free = features.workers(view, room, job)
                if np.minimum(free, workers).sum() < workers:
                    continue
            pairs = features.pairs(view, room, job, free)
            nodes, racks = nodes_of(state, pairs, jobs, job, memory, recall, rack)
            score = self._affinities(int(view.job_id[job]), nodes, racks, memory.log_ratio[recall], free > 0)
            chosen = np.zeros(workers, np.int64)
            fill(score, free, workers, rack, weights.scalars[RACK], chosen)
            features.take(view, room, job, chosen)
            remember(memory, int(view.job_id[job]), nodes[chosen[0]], int(rack[chosen[0]]))
            scores = (float(priority[job]), float(score[chosen[0]]))
            decisions.append(GpuDecision(job, chosen, False, Reason.LEARNED_PRIORITY, Place.LEARNED_AFFINITY, *scores))
        return decisions

    def _priorities(self, jobs: Floats, state: Floats, possible: Ints) -> Floats:
        drawn: Floats = priorities(self._network.weights, jobs, state)
        if len(possible) > 1:
            spread = np.exp(self._network.weights.scalars[ORDER_STD])
            drawn[possible] += spread * self._rng.standard_normal(len(possible))
            self.ordered.append(Ordered(len(self.time_s) - 1, jobs, state, possible, drawn[possible]))
        return drawn

    def _affinities(self, job_id: int, nodes: Floats, rack: Ints, log_ratio: Floats, possible: Bools) -> Floats:
        count = len(possible)
        mean, _, factor = affinity(self._network.weights, count, nodes, rack, log_ratio)
        spread = np.exp(self._network.weights.scalars[PLACE_STD])
        drawn = Posterior(mean, factor).sample(spread, self._rng)
        machine = int(np.where(possible, drawn, -np.inf).argmax())
        turn = PlacedOne(len(self.time_s) - 1, job_id, nodes, rack, log_ratio, possible, drawn, machine)
        self.placed.append(turn)
        return drawn
