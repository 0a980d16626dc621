"""DAS deciding step by step, with all that learning needs kept; `das.kernel.choose` is the same, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuDecision, GpuInfo, GpuView, Ints, Place, Reason
from dovetail.features.gpu import Arrivals, GpuFeatures, Queue, Room
from dovetail.features.gpu_neighbours import (
    Pressure,
    add_pressure,
    measure_neighbours,
    measure_pressure,
    measure_surprise,
)
from dovetail.schedulers.learned.das.forward import (
    RACK,
    DasForward,
    affinity,
    covariance_of,
    judged_jobs,
    starts_now,
)
from dovetail.schedulers.learned.das.kernel import fill, nodes_of, pass_over
from dovetail.schedulers.learned.das.memory import Memory, age_h, observe, recalled, remember
from dovetail.schedulers.learned.das.random_walk import Posterior


class Ordered(NamedTuple):
    """The ordering agent's turn at one decision: some job might have started."""

    time_s: float
    job_id: Ints  # (J,)
    jobs: Floats  # (J, columns)
    machines: Floats  # (M, columns)
    possible: Ints  # job indices that might have started
    asked: Ints  # (A,) job indices of which it was weighed whether they had better wait
    columns: Floats  # (A, start columns)
    margin: Floats  # (A,) what spoke for starting, the agent's readiness included
    priority: Floats  # (J,)


class PlacedOne(NamedTuple):
    """The placement agent's turn for one job."""

    job_id: int
    nodes: Floats  # (C + n, columns): machines it might use, then what was remembered
    at: Ints  # (C + n,) which machines these are
    rack: Ints  # (M,) of all machines
    surprise: Floats  # (n,)
    age: Floats  # (n,) hours
    variance: Floats  # (C,)
    score: Floats  # (C,) affinity
    best: int  # of the C, where the first worker was put
    turn: int = -1  # of the ordering agent, which chose this job


class Actions(Protocol):
    """Scores drawn around those of the network."""

    def priorities(self, mean: Floats, possible: Bools) -> Floats: ...
    def margin(self, mean: float) -> float: ...
    def affinities(self, posterior: Posterior) -> Floats: ...


class Recorder:
    """Decides as `Das` does and keeps one episode; with `actions`, by scores that these draw, and those are kept."""

    def __init__(self, network: DasForward, actions: Actions | None = None) -> None:
        self._network = network
        self._actions = actions

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self.info = info
        self._features = GpuFeatures(info)
        self._about = self._network.neighbours(info.kind_name)
        self._memory = Memory.empty(self._network.shape.history, self._network.shape.walk_rank)
        self._arrivals = Arrivals.empty()
        self.machines = len(self._features.known.rack)
        self.ordered: list[Ordered] = []
        self.placed: list[PlacedOne] = []

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        features, weights, memory = self._features, self._network.weights, self._memory
        features.notice(view, self._arrivals)
        room = Room.of(view)
        fits, possible = features.fitting(view, room)
        if not possible.any():
            return ()
        ratio, main = features.speeds(view)
        pressure = Pressure(*measure_pressure(view, self._about))
        surprise = measure_surprise(view, features.known, self._about, pressure, ratio)
        observe(memory, view.time_s, view.run_id, surprise)
        jobs = features.jobs(view, fits)
        state = features.machines(view, surprise, main)
        judged = judged_jobs(weights, jobs, state)
        if self._actions is not None:
            judged[:, 0] = self._actions.priorities(judged[:, 0], possible)
        recall = recalled(memory)
        queue = Queue.of(view)
        decisions: list[GpuDecision] = []
        asked: list[tuple[int, Floats, float]] = []
        for job in np.argsort(-judged[:, 0], kind="stable").tolist():
            free, workers = fits[job], int(view.job_workers[job])
            if possible[job] and decisions:  # others have been placed meanwhile
                free = features.workers(view, room, job)
            starts = bool(np.minimum(free, workers).sum() >= workers)
            if starts and (decisions or len(view.run_id)):
                columns = features.start(view, room, queue, self._arrivals, job, free)
                margin = starts_now(weights, columns) + judged[job, 1]
                margin = margin if self._actions is None else self._actions.margin(margin)
                asked.append((job, columns, margin))
                starts = margin >= 0.0
            if not starts:
                pass_over(queue, workers * view.job_gpus[job])
                continue
            pairs = features.pairs(view, room, job, free)
            beside = measure_neighbours(view, room, self._about, pressure, job, free)
            may = np.flatnonzero(free > 0)
            nodes = nodes_of(may, state, pairs, beside, jobs, job)
            score, walked = self._affinities(view, job, may, nodes, recall)
            chosen = np.zeros(workers, np.int64)
            best = fill(score, may, free, workers, features.known, weights.scalars[RACK], chosen)
            for worker, machine in enumerate(chosen.tolist()):
                add_pressure(pressure, self._about, room, machine, view.job_kind[job], view.job_gpus[job])
                features.take(view, room, job, chosen[worker : worker + 1])
            self.placed[-1] = self.placed[-1]._replace(best=best)
            remember(memory, int(view.job_id[job]), nodes[best], walked[best], may[best])
            scores = (float(judged[job, 0]), float(score[best]))
            decisions.append(GpuDecision(job, chosen, False, Reason.LEARNED_PRIORITY, Place.LEARNED_AFFINITY, *scores))
        self.ordered.append(
            Ordered(
                view.time_s,
                np.array(view.job_id),
                jobs,
                state,
                np.flatnonzero(possible),
                np.array([job for job, _, _ in asked], np.int64),
                np.array([columns for _, columns, _ in asked]).reshape(len(asked), len(weights.start_base)),
                np.array([margin for _, _, margin in asked]),
                judged[:, 0].copy(),
            )
        )
        return decisions

    def _affinities(self, view: GpuView, job: int, may: Ints, nodes: Floats, recall: Ints) -> tuple[Floats, Floats]:
        """(C,) of the machines it may use, and what is to be remembered of them."""
        memory, rack, weights = self._memory, self._features.known.rack, self._network.weights
        at, surprise = np.concatenate((may, memory.machine[recall])), memory.surprise[recall]
        age = age_h(memory, recall, view.time_s)
        score, _, variance, walked = affinity(weights, nodes, at, rack, memory.walk[recall], surprise, age, True)
        if self._actions is not None:
            doubt = covariance_of(weights, nodes, at, rack, memory.walk[recall], surprise, age)
            score = self._actions.affinities(Posterior(score, *doubt))
        every = np.concatenate((nodes, memory.node[recall]))
        who, turn = int(view.job_id[job]), len(self.ordered)
        self.placed.append(PlacedOne(who, every, at, rack, surprise, age, variance, score.copy(), 0, turn))
        return score, walked
