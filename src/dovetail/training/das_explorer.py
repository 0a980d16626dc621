"""DAS trying things out: it draws its scores instead of taking their means, and keeps all that learning needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuView, Ints, Place, Reason
from dovetail.features.gpu import GpuFeatures, Queue, Room
from dovetail.features.gpu_neighbours import (
    Pressure,
    add_pressure,
    measure_neighbours,
    measure_pressure,
    measure_surprise,
)
from dovetail.schedulers.learned.das.forward import (
    ORDER_STD,
    PLACE_STD,
    RACK,
    DasForward,
    affinity,
    priorities,
    starts_now,
)
from dovetail.schedulers.learned.das.kernel import fill, nodes_of, pass_over
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
    nodes: Floats  # (C + n, columns): machines it might use, then what was remembered
    at: Ints  # (C + n,) which machines these are
    rack: Ints  # (M,) of all machines
    surprise: Floats  # (n,)
    drawn: Floats  # (C,)
    best: int  # of the C, where the first worker was put


class Explorer:
    """Decides as `Das` does, with noise, step by step; `das.kernel.choose` is the same without.  Keeps one episode."""

    def __init__(self, network: DasForward, rng: np.random.Generator) -> None:
        self._network = network
        self._rng = rng

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._features = GpuFeatures(info)
        self._about = self._network.neighbours(info.kind_name)
        self._memory = Memory.empty(self._network.shape.history, self._network.shape.walk_rank)
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
        pressure = Pressure(*measure_pressure(view, self._about))
        surprise = measure_surprise(view, features.known, self._about, pressure, ratio)
        observe(memory, view.run_id, surprise)
        jobs = features.jobs(view, fits)
        state = features.machines(view, surprise, main)
        priority = self._priorities(jobs, state, np.flatnonzero(possible))
        recall = recalled(memory)
        queue = Queue.of(view)
        decisions: list[GpuDecision] = []
        for job in np.argsort(-priority, kind="stable").tolist():
            free, workers = fits[job], int(view.job_workers[job])
            if possible[job] and decisions:  # others have been placed meanwhile
                free = features.workers(view, room, job)
            starts = bool(np.minimum(free, workers).sum() >= workers)
            if starts and (decisions or len(view.run_id)):
                starts = starts_now(weights, features.start(view, room, queue, job, free)) >= 0.0
            if not starts:
                pass_over(queue, workers * view.job_gpus[job])
                continue
            pairs = features.pairs(view, room, job, free)
            beside = measure_neighbours(view, room, self._about, pressure, job, free)
            may = np.flatnonzero(free > 0)
            nodes = nodes_of(may, state, pairs, beside, jobs, job)
            score, walked = self._affinities(int(view.job_id[job]), may, nodes, recall)
            chosen = np.zeros(workers, np.int64)
            best = fill(score, may, free, workers, features.known, weights.scalars[RACK], chosen)
            for worker, machine in enumerate(chosen.tolist()):
                add_pressure(pressure, self._about, room, machine, view.job_kind[job], view.job_gpus[job])
                features.take(view, room, job, chosen[worker : worker + 1])
            remember(memory, int(view.job_id[job]), nodes[best], walked[best], may[best])
            scores = (float(priority[job]), float(score[best]))
            decisions.append(GpuDecision(job, chosen, False, Reason.LEARNED_PRIORITY, Place.LEARNED_AFFINITY, *scores))
        return decisions

    def _priorities(self, jobs: Floats, state: Floats, possible: Ints) -> Floats:
        drawn: Floats = priorities(self._network.weights, jobs, state)
        if len(possible) > 1:
            spread = np.exp(self._network.weights.scalars[ORDER_STD])
            drawn[possible] += spread * self._rng.standard_normal(len(possible))
            self.ordered.append(Ordered(len(self.time_s) - 1, jobs, state, possible, drawn[possible]))
        return drawn

    def _affinities(self, job_id: int, may: Ints, nodes: Floats, recall: Ints) -> tuple[Floats, Floats]:
        """(C,) drawn, of the machines it may use, and what is to be remembered of them."""
        memory, rack, weights = self._memory, self._features.known.rack, self._network.weights
        at, surprise = np.concatenate((may, memory.machine[recall])), memory.surprise[recall]
        mean, _, factor, walked = affinity(weights, nodes, at, rack, memory.walk[recall], surprise)
        drawn = Posterior(mean, factor).sample(np.exp(weights.scalars[PLACE_STD]), self._rng)
        every = np.concatenate((nodes, memory.node[recall]))
        best = int(drawn.argmax())
        self.placed.append(PlacedOne(len(self.time_s) - 1, job_id, every, at, rack, surprise, drawn, best))
        return drawn, walked
