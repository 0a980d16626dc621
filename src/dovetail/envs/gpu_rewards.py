"""What agents of gpu jobs are rewarded for: objects that are handed to an environment.

`cost` is minus what the episode costs, divided among its steps: the rewards of an episode sum to minus (an hour's price
x mean completion time + a dollar's price x mean fee).  `das` is the reward as published (DAS, KDD 2023), over the N'
jobs that wait when the agents are asked:

    r = 1/N' sum_i [ z_i / (fee_i jct_i) - (1 - z_i) alpha C_i n_i ]

z_i = 1 if the answer starts job i, C_i its waiting (in hours) and n_i its GPUs.  The authors do not say how fee and
completion time are normalised, nor how they are known when the job starts.  Ours are what is expected then, by the
estimate of its work and the slowest of its types alone, over the least the job could come to: that of a start at its
arrival on the fastest type, and on the cheapest.  So 1 / (fee jct) is 1 at best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.gpu import Bools, Floats, GpuDecision, GpuInfo, GpuView
from dovetail.sim.gpu import GpuResult

HOUR_S = 3600.0


class Ledger(NamedTuple):
    """What has come together so far."""

    time_s: float
    job_s: float  # seconds that jobs have been in the system, of all together
    fee: float  # USD, of all jobs together

    @classmethod
    def of(cls, result: GpuResult) -> Ledger:
        now = result.end_s
        until = np.where(np.isnan(result.finish_s), now, result.finish_s)
        job_s = float(np.maximum(until - result.workload.arrival_s, 0.0).sum())
        return cls(now, job_s, float(result.fee.sum()))


class GpuStep(NamedTuple):
    """An answer, and the world until it asks again or all is complete."""

    info: GpuInfo
    jobs: int  # of the episode
    view: GpuView  # that was answered
    decisions: Sequence[GpuDecision]
    before: Ledger
    after: Ledger


class GpuReward(Protocol):
    """What a step is worth to the agents."""

    def reward(self, step: GpuStep) -> float: ...


@dataclass(frozen=True)
class Cost:
    """Minus what jobs spend of time and money, on average over the jobs of the episode."""

    hour: float = 1.0  # what an hour of a job in the system costs
    usd: float = 0.1  # what a dollar of its fee costs

    def __post_init__(self) -> None:
        if not (self.hour >= 0 and self.usd >= 0 and self.hour + self.usd > 0):
            raise ConfigError(f"prices of {self.hour} and {self.usd}; expected numbers from 0, not both 0")

    def reward(self, step: GpuStep) -> float:
        hours = (step.after.job_s - step.before.job_s) / HOUR_S
        return -(self.hour * hours + self.usd * (step.after.fee - step.before.fee)) / step.jobs


@dataclass(frozen=True)
class Das:
    """As published."""

    alpha: float = 0.01  # price of an hour's waiting, for each GPU

    def __post_init__(self) -> None:
        if not self.alpha >= 0:
            raise ConfigError(f"alpha is {self.alpha}; expected 0 or more")

    def reward(self, step: GpuStep) -> float:
        view = step.view
        if not len(view.job_id):
            return 0.0
        waited_s = view.time_s - view.job_arrival_s
        worth = -self.alpha * waited_s / HOUR_S * view.job_workers * view.job_gpus
        for decision in step.decisions:
            if not decision.stops:
                worth[decision.job] = _started(step, decision, float(waited_s[decision.job]))
        return float(worth.mean())


REWARDS = {"cost": Cost, "das": Das}


def reward_named(name: str) -> GpuReward:
    if name not in REWARDS:
        raise UnknownName("reward", name, REWARDS)
    made: GpuReward = REWARDS[name]()
    return made


def _started(step: GpuStep, decision: GpuDecision, waited_s: float) -> float:
    """1 / (fee x completion time), both over the least they could be."""
    info, job = step.info, decision.job
    speed: Floats = info.kind_speed[int(step.view.job_kind[job])]
    types = np.unique(info.machine_type)
    mask = int(step.view.job_types[job])
    allowed: Bools = (speed[types] > 0) & ((mask == -1) | (mask >> types & 1 == 1))
    usable = types[allowed]
    left_s = float(step.view.job_left_s[job])
    own = info.machine_type[decision.machines]
    slowest = float(speed[own].min())
    time = (waited_s + left_s / slowest) / (left_s / float(speed[usable].max()))
    if step.view.job_gpus[job] == 0:
        return 1.0 / time
    cheapest = float((info.type_price[usable] / speed[usable]).min())
    fee = float(info.type_price[own].mean()) / slowest / cheapest
    return 1.0 / (fee * time)
