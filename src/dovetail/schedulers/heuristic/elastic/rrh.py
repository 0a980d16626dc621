"""elastic/rrh: the risk-reward heuristic (Irwin, Grit and Chase, HPDC 2004), a baseline of OASiS (INFOCOM 2018).

With R the slots a job needs from now on with its fixed number of workers, and everything at the delay it would then
complete with:

    present value  PV = f / (1 + rate * R)
    decay          d = -f', the slope of the sigmoid
    cost           C = R * sum of the others' decays: what they lose while this one runs
    priority       (alpha * PV - (1 - alpha) * C) / R
    slack          (PV - C) / d: how long it can wait before it is worth nothing

When a job arrives, it is rejected for good if its slack is not above `threshold`; the others are those under way or
admitted before, and those of the same slot that came before it.  A job that time costs nothing (d = 0) has endless
slack, if PV exceeds C.  Admitted jobs start in order of priority with a fixed number of workers, all at once, and keep
them; one that does not fit may be overtaken.

Departures: f and d are those of a start in this very slot, as the queue ahead of a job cannot be known before the
order of priorities is.  `preempt` lets jobs lose their workers to others of a higher priority, as the original does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import Bools, ElasticDecision, ElasticInfo, ElasticView, Floats, Ints, Reason, utility
from dovetail.schedulers.heuristic.elastic.fifo import WORKERS_GRID, check_workers
from dovetail.schedulers.heuristic.elastic.placing import PLACING_HELP, Placing, SlotRoom
from dovetail.schedulers.heuristic.elastic.slot_scheduler import FixedScheduler, Waiting


class Rrh(FixedScheduler):
    REASON = Reason.BEST_RISK_REWARD
    TUNE: ClassVar = {
        "workers": WORKERS_GRID,
        "threshold": (-20.0, -5.0, 0.0, 2.0, 5.0, 10.0, 20.0),
        "alpha": (0.0, 0.25, 0.5, 0.75, 1.0),
        "preempt": (False, True),
    }

    @dataclass(frozen=True)
    class Params:
        workers: int = field(default=16, metadata={"help": "workers of every job that can use so many"})
        rate: float = field(default=0.01, metadata={"help": "discount of what is earned later, per slot"})
        alpha: float = field(default=0.5, metadata={"help": "weight of reward; the rest is that of cost to others"})
        threshold: float = field(default=0.0, metadata={"help": "slack in slots above which a job is admitted"})
        preempt: bool = field(default=False, metadata={"help": "better jobs take the workers of others"})
        placing: Placing = field(default="round-robin", metadata=PLACING_HELP)

        def __post_init__(self) -> None:
            check_workers(self.workers)
            if not 0.0 <= self.alpha <= 1.0:
                raise ValueError(f"alpha is {self.alpha}; expected a weight from 0 to 1")
            if not 0.0 <= self.rate < math.inf:
                raise ValueError(f"rate is {self.rate}; expected 0 or more")
            if math.isnan(self.threshold):
                raise ValueError(f"threshold is {self.threshold}; expected a number of slots")

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(params.placing, params.workers)
        self.params = params
        self._accepted: set[int] = set()  # job ids

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._accepted = set()

    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        jobs = waiting.jobs
        needed = np.ceil(view.job_work_left[jobs] / self.fixed(view, waiting)[jobs])  # R
        parameters = view.job_utility[jobs]
        delay: Floats = view.slot + needed - 1.0 - view.job_arrival[jobs]
        worth, decay = utility(parameters, delay), slope(parameters, delay)
        value = worth / (1.0 + self.params.rate * needed)
        accepted = self._admit(view.job_id[jobs], needed, value, decay)
        cost = needed * (decay[accepted].sum() - decay)
        priority = (self.params.alpha * value - (1.0 - self.params.alpha) * cost) / needed
        ranked = np.argsort(-priority, kind="stable")
        order = jobs[ranked[accepted[ranked]]]
        self.keep_or_start(view, waiting, room, order, strict=False, preempt=self.params.preempt)
        return [
            ElasticDecision(
                int(jobs[place]),
                rejected=True,
                reason=Reason.TOO_LITTLE_SLACK,
                utility=float(worth[place]),
                cost=float(cost[place]),
            )
            for place in np.flatnonzero(~accepted)
        ]

    def _admit(self, job_id: Ints, needed: Floats, value: Floats, decay: Floats) -> Bools:
        """Which of the jobs are admitted, now or before."""
        accepted = np.array([job in self._accepted for job in job_id.tolist()], dtype=np.bool_)
        total = float(decay[accepted].sum())
        for place in np.flatnonzero(~accepted):
            gain = value[place] - needed[place] * total
            slack = gain / decay[place] if decay[place] > 0 else np.copysign(np.inf, gain)
            if slack > self.params.threshold:
                accepted[place] = True
                total += float(decay[place])
        self._accepted.update(job_id[accepted].tolist())
        return accepted


def slope(parameters: Floats, delay: Floats) -> Floats:
    """What a job loses with every further slot of delay: minus the derivative of `utility`."""
    worth, decay = parameters[..., 0], parameters[..., 1]
    share = utility(parameters * (0.0, 1.0, 1.0) + (1.0, 0.0, 0.0), delay)  # of its worth
    values: Floats = worth * decay * share * (1.0 - share)
    return values
