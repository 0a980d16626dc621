"""gpu/das: a learned order and a learned place that know of each other (DAS, KDD 2023).

Jobs are taken by priority; each one's workers go to the machines of highest affinity that take them; a job that does
not fit waits.  What became of earlier jobs where they were put is remembered (`history` of them) and tells how fast the
next would be on machines like those.  `forward` has the equations.

Departures.  The published agents score everything from nothing; these correct a rule of thumb.  A gang that one machine
cannot hold is kept together: machines in the racks of those already chosen gain `place.rack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuView, Ints, Place, Reason
from dovetail.features.gpu import GpuFeatures, Observed, Room
from dovetail.schedulers.learned import checkpoint_files
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.forward import Affinity, DasForward, History
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS

BUNDLED = Path(__file__).parent / "checkpoints"
FRESH = 0.3  # how much of what is known of a running job's speed the latest measurement makes up


def find_checkpoint(name: str) -> Path:
    """A bundled checkpoint by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


@dataclass(frozen=True)
class DasParams:
    checkpoint: str = field(default="cloud", metadata={"help": "name of a bundled network, or a path"})


class Das:
    Params = DasParams

    def __init__(self, params: DasParams = DasParams(), *, network: DasForward | None = None) -> None:
        self.checkpoint = params.checkpoint
        self.network = load_checkpoint(find_checkpoint(params.checkpoint)).network if network is None else network

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._features = GpuFeatures(info)
        self._memory = Memory(self.network.shape.history)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        observed = self._features.observed(view)
        self._memory.observe(view, observed)
        if not len(view.job_id):
            return ()
        room = Room(self._info, view)
        fitting = self._features.fitting(view, room)
        jobs = self._features.jobs(view, fitting)
        machines = self._features.machines(view, observed)
        possible = np.flatnonzero(np.minimum(fitting, view.job_workers[:, None]).sum(axis=1) >= view.job_workers)
        priority = self._priorities(self.network.priorities(jobs, machines), jobs, machines, possible)
        history = self._memory.history()
        decisions: list[GpuDecision] = []
        for job in possible[np.argsort(-priority[possible], kind="stable")].tolist():
            demands = (float(view.job_gpus[job]), float(view.job_cpus[job]), float(view.job_memory[job]))
            fits = fitting[job]
            if decisions:  # others have been placed meanwhile
                fits = room.workers(*demands, int(view.job_types[job]), int(view.job_kind[job]))
            workers = int(view.job_workers[job])
            if np.minimum(fits, workers).sum() < workers:
                continue
            pairs = self._features.pairs(view, room, job, fits)
            nodes = np.concatenate((machines, pairs, np.broadcast_to(jobs[job], (len(pairs), len(jobs[job])))), axis=1)
            found = self.network.affinity(nodes, pairs, self._info.machine_rack, history)
            affinity = self._affinities(found, nodes, pairs, fits > 0)
            chosen = self._fill(affinity, fits, workers)
            for machine in chosen.tolist():
                room.take(machine, *demands)
            main = int(chosen[0])
            self._memory.placed(int(view.job_id[job]), nodes[main], int(self._info.machine_rack[main]))
            decisions.append(
                GpuDecision(
                    job,
                    chosen,
                    reason=Reason.LEARNED_PRIORITY,
                    place=Place.LEARNED_AFFINITY,
                    priority=float(priority[job]),
                    affinity=float(affinity[main]),
                )
            )
        return decisions

    def _priorities(self, mean: Floats, jobs: Floats, machines: Floats, possible: Ints) -> Floats:
        """What to go by; training explores here."""
        return mean

    def _affinities(self, found: Affinity, nodes: Floats, pairs: Floats, possible: np.ndarray) -> Floats:
        """What to go by; training explores here."""
        return found.mean

    def _fill(self, affinity: Floats, fits: Ints, workers: int) -> Ints:
        """Machine of each worker: the best machine takes as many as it can, then the next."""
        score = np.where(fits > 0, affinity, -np.inf)
        chosen: list[int] = []
        while True:
            best = int(score.argmax())
            chosen += [best] * min(int(fits[best]), workers - len(chosen))
            if len(chosen) == workers:
                return np.array(chosen, np.int64)
            score[best] = -np.inf
            near = self._info.machine_rack == self._info.machine_rack[best]
            score[near] += self.network.parameters["place.rack"][0]


class Memory:
    """The last jobs that were placed, and how fast they turned out to be."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[int, tuple[Floats, int]] = {}  # job id -> its node, its rack; the oldest first
        self._log_ratio: dict[int, float] = {}  # of those that have been seen running

    def placed(self, job_id: int, node: Floats, rack: int) -> None:
        self._kept.pop(job_id, None)
        self._log_ratio.pop(job_id, None)
        self._kept[job_id] = (node, rack)
        if len(self._kept) > 2 * self._most:  # some of them have not been seen running yet
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._log_ratio.pop(oldest, None)

    def observe(self, view: GpuView, observed: Observed) -> None:
        for job_id, ratio in zip(view.run_id[observed.run].tolist(), observed.log_ratio.tolist(), strict=True):
            if job_id in self._kept:
                before = self._log_ratio.get(job_id, ratio)
                self._log_ratio[job_id] = before + FRESH * (ratio - before)

    def history(self) -> History:
        known = [job_id for job_id in self._kept if job_id in self._log_ratio][-self._most :]
        nodes = np.array([self._kept[job_id][0] for job_id in known]).reshape(len(known), len(NODE_COLUMNS))
        rack = np.array([self._kept[job_id][1] for job_id in known], np.int64)
        return History(nodes, rack, np.array([self._log_ratio[job_id] for job_id in known]))
