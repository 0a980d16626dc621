"""What the steps of an episode were worth, once it is over: rewards that `mappo` learns from.

A step is a turn of the ordering agent, and lasts until the next.  `das` is the published reward, over the N' jobs that
wait at a step:

    r = 1/N' sum_i [ z_i / (fee_i jct_i) - (1 - z_i) alpha C_i n_i ]

z_i = 1 if job i starts, C_i its waiting so far in hours, n_i its GPUs.  The authors do not say how fee and completion
time are normalised.  Here both are those that the job came to, over the least it could have come to: started at its
arrival, alone, on the fastest type, and on the cheapest; so 1 / (fee jct) is 1 at best.  A job that is stopped and
starts again counts where it starts last.  (`envs.gpu_rewards` has the same for agents that must be told at once, with
what is expected instead of what came of it.)

`cost` is minus the time that jobs are in the system until the next step, and minus the fee of those that start, each
over a mean of the sequence that no decision changes (work; least fee).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, Ints
from dovetail.sim.gpu import GpuResult
from dovetail.training.das_plan import DasPlan
from dovetail.training.das_recorder import Ordered, PlacedOne

HOUR_S = 3600.0


def rewards_of(
    plan: DasPlan, turns: Sequence[Ordered], placed: Sequence[PlacedOne], result: GpuResult, info: GpuInfo
) -> Floats:
    """(T,) of each turn."""
    if plan.mappo.reward == "das":
        return published(plan.mappo.alpha, turns, placed, result, info)
    return costs(plan.fee, turns, placed, result, info)


def published(
    alpha: float, turns: Sequence[Ordered], placed: Sequence[PlacedOne], result: GpuResult, info: GpuInfo
) -> Floats:
    jobs, (time_s, fee) = result.workload, least(result, info)
    paid = np.where(fee > 0.0, result.fee / np.maximum(fee, 1e-9), 1.0)  # who needs no GPU pays nothing
    worth = 1.0 / (result.completion_s / time_s * paid)
    gpus, started = jobs.workers * jobs.gpus, last_turn(placed, len(result.fee))
    found = np.zeros(len(turns))
    for number, turn in enumerate(turns):
        waited_h = (turn.time_s - jobs.arrival_s[turn.job_id]) / HOUR_S
        starts = started[turn.job_id] == number
        found[number] = np.where(starts, worth[turn.job_id], -alpha * waited_h * gpus[turn.job_id]).mean()
    return found


def costs(
    fee_weight: float, turns: Sequence[Ordered], placed: Sequence[PlacedOne], result: GpuResult, info: GpuInfo
) -> Floats:
    until_s = np.append([turn.time_s for turn in turns[1:]], result.end_s)
    paid_s = np.diff(_in_system(result, np.append(turns[0].time_s, until_s))) / result.workload.work_s.mean()
    started = last_turn(placed, len(result.fee))
    fees = np.bincount(started[started >= 0], result.fee[started >= 0], len(turns))
    found: Floats = -(paid_s + fee_weight * fees / max(float(least(result, info)[1].mean()), 1e-9))
    return found


def least(result: GpuResult, info: GpuInfo) -> tuple[Floats, Floats]:
    """(N,) seconds and (N,) USD that each job comes to at best, on the types it may run on."""
    jobs = result.workload
    speed = info.kind_speed[jobs.kind]  # (N, T)
    there = np.zeros(speed.shape[1], bool)
    there[info.machine_type] = True
    allowed = (jobs.types[:, None] == -1) | ((jobs.types[:, None] >> np.arange(speed.shape[1])) & 1 == 1)
    usable = there & allowed & (speed > 0.0)
    fastest = np.where(usable, speed, 0.0).max(axis=1)
    cheapest = np.where(usable, info.type_price / np.maximum(speed, 1e-9), np.inf).min(axis=1)
    return jobs.work_s / fastest, jobs.work_s / HOUR_S * jobs.workers * jobs.gpus * cheapest


def last_turn(placed: Sequence[PlacedOne], jobs: int) -> Ints:
    """(N,) in which each job started, the last time; -1: in none."""
    found = np.full(jobs, -1, np.int64)
    for one in placed:
        found[one.job_id] = one.turn
    return found


def _in_system(result: GpuResult, at_s: Floats) -> Floats:
    """(K,) seconds that all jobs together have been there by then."""
    until = np.minimum(at_s[:, None], result.finish_s[None, :])
    found: Floats = np.maximum(until - result.workload.arrival_s[None, :], 0.0).sum(axis=1)
    return found
