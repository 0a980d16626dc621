"""MAPPO (Yu et al., 2022) as in DAS: a central critic, clipped policy gradients for two agents that draw scores.

At turn t the ordering agent draws, independently, a priority for each waiting job that might start and, for each job
that is asked whether it had better wait, what speaks for starting it; the placement agent draws the affinities of all
machines that a job may use, together, from the posterior of its process (`Posterior.sample`):

    priority_i ~ N(mu_i, s_o^2),   start_i ~ N(rule_i + ready_i, s_s^2),   affinity_i ~ N(mu_i, s_p^2 Sigma_i)

whose densities are exact, with Sigma = L L' (Cholesky):

    log pi(a) = - 1/2 (a - mu)' (s^2 Sigma)^-1 (a - mu) - 1/2 log|s^2 Sigma| - n/2 log(2 pi)
              = - 1/2 |L^-1 (a - mu)|^2 / s^2 - sum log L_ii - n log s - n/2 log(2 pi)

The three deviations s are learned, too.  The critic (`mappo_critic`) sees what both agents see and drew.  With V' its
old network, which follows it slowly, rewards r (`mappo_rewards`) in units of the deviation of what came in the first
round, and gamma_t = exp(-(time until the next turn) / patience),

    delta_t = r_t + gamma_t V'(o_t+1) - V'(o_t)                        the TD error
    B_t     = sum over k of (trace gamma)^k delta_t+k                  the advantage, of both agents
    L_c     = sum over t of (V(o_t) - y_t)^2 + (Q(o_t, a_t) - y_t)^2,  y_t = V'(o_t) + B_t
    rho_t   = pi(a_t) / pi_old(a_t), of all that an agent drew at turn t
    L       = - sum over agents of ( E[min(rho_t B_t, clip(rho_t, 1 - eps, 1 + eps) B_t)] + entropy H(pi) )
              + speed (-log likelihood of speeds) + wait (squared error of waits)

The first round teaches the critic alone, so that there is a baseline when the agents begin to learn.

Slips of the published formulas, corrected: the density lacks Sigma^-1 and the 1/2 of log|Sigma|; the clip must be of
min(rho B, clip(rho) B); 1 / (fee jct) is near 0 whatever is done, so it is rescaled.

Departures.  Published is a critic Q(o, a) with TD errors of one step.  The TD error of a Q that knows the action is 0
on average whatever the action, so it cannot tell the actor anything; that of a V that knows only what was seen is on
average Q(o, a) - V(o).  So the value is the baseline, beside Q, which is taught the same: `advantage=q` has
B_t = Q'(o_t, a_t) - V'(o_t) instead, as Q learned it.  `trace=0` is the published one-step error; with more, what came
of a job a hundred turns later counts before the critic knows of it.  Turns come when something changes, not at
intervals, so gamma depends on the time between them.  The posterior is that of the process alone: rules of thumb and
what was learned beside it move the mean.  Jobs that do not fit draw no priority, for it would change nothing.  H is
per score, so that long queues do not weigh more.  The last two terms, ours, are those of `fork_gradient`: they teach
the process what to expect, of which the policy is made.

Metrics: `gained_*` the objectives of the two agents; `outside_*` share of ratios beyond the clip; `entropy_*` per
score; `far` mean of rho - 1 - log rho, an estimate of the divergence from the policy that played.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dovetail.core.gpu import Bools, Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS, START_COLUMNS
from dovetail.schedulers.learned.das.network import DasNetwork, Placed
from dovetail.schedulers.learned.das.random_walk import Posterior
from dovetail.training.das_recorder import Ordered, PlacedOne
from dovetail.training.fork_gradient import PIECE, PlaceBatch

SPREADS = ("order", "start", "place")
"""Names of the logarithms of s_o, s_s and s_p, which are learned with the network and not kept in it."""
LOG_2_PI = math.log(2.0 * math.pi)


class Drawn:
    """The scores of an episode: `das_recorder.Actions`."""

    def __init__(self, log_spread: Floats, rng: np.random.Generator) -> None:
        self._order, self._start, self._place = np.exp(log_spread).tolist()
        self._rng = rng

    def priorities(self, mean: Floats, possible: Bools) -> Floats:
        found: Floats = mean + self._order * self._rng.standard_normal(len(mean)) * possible
        return found

    def margin(self, mean: float) -> float:
        return float(mean + self._start * self._rng.standard_normal())

    def affinities(self, posterior: Posterior) -> Floats:
        return posterior.sample(self._place, self._rng)


class OrderActions:
    """What the ordering agent drew in T turns, in pieces, padded."""

    def __init__(self, turns: Sequence[Ordered]) -> None:
        self._turns = len(turns)
        by_length = sorted(range(len(turns)), key=lambda number: len(turns[number].job_id))
        pieces = (by_length[first : first + PIECE] for first in range(0, len(by_length), PIECE))
        self._pieces = [_OrderPiece([turns[number] for number in piece], piece) for piece in pieces]
        self.scores = torch.as_tensor(np.array([len(turn.possible) + len(turn.asked) for turn in turns], np.float64))

    def log_density(self, network: DasNetwork, log_spread: Tensor) -> tuple[Tensor, Tensor]:
        """(T,) of all that was drawn in each turn; (T,) the entropy of its scores together."""
        density = torch.zeros(self._turns, dtype=torch.float64)
        entropy = torch.zeros(self._turns, dtype=torch.float64)
        for piece in self._pieces:
            found, surprise = piece.log_density(network, log_spread)
            density = density.index_add(0, piece.number, found)
            entropy = entropy.index_add(0, piece.number, surprise)
        return density, entropy


class _OrderPiece:
    def __init__(self, turns: Sequence[Ordered], numbers: Sequence[int]) -> None:
        count, most = len(turns), max(len(turn.job_id) for turn in turns)
        jobs, there = np.zeros((count, most, len(JOB_COLUMNS))), np.zeros((count, most))
        drew, priority = np.zeros((count, most)), np.zeros((count, most))
        for row, turn in enumerate(turns):
            here = len(turn.job_id)
            jobs[row, :here], there[row, :here] = turn.jobs, 1.0
            drew[row, turn.possible], priority[row, turn.possible] = 1.0, turn.priority[turn.possible]
        machines = np.array([turn.machines for turn in turns]).reshape(count, -1, len(MACHINE_COLUMNS))
        columns = np.concatenate([np.zeros((0, len(START_COLUMNS))), *(turn.columns for turn in turns)])
        row_of = np.repeat(np.arange(count), [len(turn.asked) for turn in turns])
        asked = np.concatenate([np.zeros(0, np.int64), *(turn.asked for turn in turns)])
        margin = np.concatenate([np.zeros(0), *(turn.margin for turn in turns)])
        self.number = torch.as_tensor(np.array(numbers, np.int64))
        self._jobs, self._there, self._machines = map(torch.as_tensor, (jobs, there, machines))
        self._drew, self._priority = map(torch.as_tensor, (drew, priority))
        self._columns, self._row, self._asked, self._margin = map(torch.as_tensor, (columns, row_of, asked, margin))

    def log_density(self, network: DasNetwork, log_spread: Tensor) -> tuple[Tensor, Tensor]:
        judged, _ = network.judged_jobs(self._jobs, self._there, self._machines)
        mean = judged[self._row, self._asked, 1] + network.rule_of_start(self._columns)
        density = (normal(self._priority - judged[..., 0], log_spread[0]) * self._drew).sum(dim=1)
        density = density.index_add(0, self._row, normal(self._margin - mean, log_spread[1]))
        each = 0.5 * (1.0 + LOG_2_PI) + log_spread
        asked = torch.zeros_like(density).index_add(0, self._row, torch.ones_like(mean))
        return density, each[0] * self._drew.sum(dim=1) + each[1] * asked


class PlaceActions:
    """What the placement agent drew for n jobs, padded, and in which turn."""

    def __init__(self, placed: Sequence[PlacedOne], batch: PlaceBatch) -> None:
        most = batch.nodes.shape[1] - batch.surprise.shape[1]
        score = np.zeros((len(placed), most))
        for row, one in enumerate(placed):
            score[row, : len(one.score)] = one.score
        self._score, self._there = torch.as_tensor(score), batch.there[:, :most]
        self._turn = torch.as_tensor(np.array([one.turn for one in placed], np.int64))
        self.scores = self._there.sum(dim=1)

    def log_density(self, placed: Placed, log_spread: Tensor, turns: int) -> tuple[Tensor, Tensor]:
        """(T,) of all that was drawn in each turn; (n,) the entropy of the scores of each job together."""
        lower = cholesky_of(placed.own, placed.factor, self._there)
        density = multivariate_normal((self._score - placed.mean) * self._there, lower, log_spread[2], self.scores)
        volume = lower.diagonal(dim1=1, dim2=2).log().sum(dim=1)
        entropy = self.scores * (0.5 * (1.0 + LOG_2_PI) + log_spread[2]) + volume
        return torch.zeros(turns, dtype=torch.float64).index_add(0, self._turn, density), entropy

    def drew(self, turns: int) -> Tensor:
        """(T,) whether anything was."""
        return torch.zeros(turns, dtype=torch.bool).index_fill(0, self._turn, True)


def normal(off: Tensor, log_spread: Tensor) -> Tensor:
    """Log density of what is so far off its mean."""
    return -0.5 * (off * (-log_spread).exp()) ** 2 - log_spread - 0.5 * LOG_2_PI


def cholesky_of(own: Tensor, factor: Tensor, there: Tensor) -> Tensor:
    """(n, M, M) L of diag(own) + factor factor' among those `there` (n, M); the others stand alone, with 1."""
    held = factor * there[..., None]
    found: Tensor = torch.linalg.cholesky(torch.diag_embed(own * there + (1.0 - there)) + held @ held.mT)
    return found


def multivariate_normal(off: Tensor, lower: Tensor, log_spread: Tensor, scores: Tensor) -> Tensor:
    """(n,) log densities of what is so far `off` (n, M) its mean, with covariance s^2 L L'; `scores`: how many of M."""
    white = torch.linalg.solve_triangular(lower, off[..., None], upper=False)[..., 0]
    volume = lower.diagonal(dim1=1, dim2=2).log().sum(dim=1) + scores * (log_spread + 0.5 * LOG_2_PI)
    found: Tensor = -0.5 * (-2.0 * log_spread).exp() * (white**2).sum(dim=1) - volume
    return found


def clipped(log_ratio: Tensor, advantage: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """Mean over turns of the objective, and the share of ratios beyond the clip."""
    ratio = log_ratio.exp()
    within = ratio.clamp(1.0 - clip, 1.0 + clip)
    outside = ((ratio - within).abs() > 0).double()
    return torch.minimum(ratio * advantage, within * advantage).mean(), outside.mean()
