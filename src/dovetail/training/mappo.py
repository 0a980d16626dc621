"""MAPPO (Yu et al., 2022) for the two agents of DAS: clipped policy gradients that both agents share the advantage of.

A round replays job sequences.  Each is played once as the network is (`das_recorder`), and then, compiled, many times
with noise: to every job's priority, to what speaks for starting it, and to its affinity for each machine, there more
where the random-walk process is less certain.  A job keeps its noise for as long as it waits, so that one that is let
wait is let wait: noise that is drawn anew at every decision soon starts it.  Episodes come in pairs of opposite noise,
and all of a sequence have the same jobs and the same luck.

The advantage of a job's noise is what the episode saved, against the mean of all of them, on the jobs that were in the
system with it or came later; these fade with time.  Costs are the time in the system and the fees, each in units of its
mean.  With d the change of a job's mean score since the round was played, in units of the noise, and e its noise,

    log ratio = e d - d^2 / 2
    L = - sum over agents of E[min(ratio A, clip(ratio, 1 - eps, 1 + eps) A)] + speed (-log likelihood of speeds)

where the mean is over the decisions at which the score could have mattered: for priorities those with others that might
start, for readiness those near the margin.  How ready all jobs are together is left to the rule: with noise, starting
more of them always looks better than it is without.  The last term makes the placement agent's process predict the
speeds that were measured.

Before the first round, it is learned who slows whom down (`neighbours`) and how fast jobs are where (the last term
alone); then the rules of thumb that the network corrects, and the one that says who had better wait (a weight for each
column), are improved by evolution strategies (`evolution`).

Departures.  The published critic is a Q of the joint action with one-step targets; here episodes that met the same luck
take its place, for they tell exactly what a critic would have to guess.  The published reward is r = 1 / (fee x jct)
for a job that starts and a penalty for one that waits.  A sum of inverses rewards starting the short ones whatever it
costs the long; costs themselves are what is to be made small.

Metrics, means over turns: `gained_*` the objectives of the two agents; `outside_*` share of ratios outside the clip;
`moved_*` divergence of the new policy from the old; `speed` squared error of the logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS
from dovetail.schedulers.learned.das.forward import meeting_places
from dovetail.schedulers.learned.das.network import DasNetwork, Near
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS
from dovetail.training.das_recorder import Ordered, PlacedOne

PIECE = 64  # decisions that are looked at together: of similar lengths of the queue
LEAST_DOUBT = 0.1  # of a job's decisions, in sum, of how likely noise would have changed them, to count in full
USUAL_VARIANCE = 0.02  # of the logarithm of speeds, for networks without a process that has one of its own


@dataclass(frozen=True)
class MappoPlan:
    """How to learn."""

    iterations: int = field(default=12, metadata={"help": "rounds of playing and learning"})
    sequences: int = field(default=16, metadata={"help": "job sequences in a round"})
    episodes: int = field(default=24, metadata={"help": "times each of them is played with noise in a round; even"})
    epochs: int = field(default=4, metadata={"help": "steps of learning from a round"})
    neighbours: int = field(
        default=40, metadata={"help": "episodes at random from which it is learned who slows whom down; 0: it is not"}
    )
    rules: int = field(
        default=40, metadata={"help": "steps of evolution of the rules of thumb, before the first round"}
    )
    warm_up: int = field(default=3, metadata={"help": "rounds in which only speeds are learned, before all others"})
    rate: float = field(default=1e-3, metadata={"help": "learning rate"})
    clip: float = field(default=0.2, metadata={"help": "how far a ratio may go"})
    order_noise: float = field(default=0.5, metadata={"help": "of priorities; 0: none, and nothing is learned of them"})
    start_noise: float = field(default=0.3, metadata={"help": "of what speaks for starting; 0: none"})
    place_noise: float = field(default=0.4, metadata={"help": "of affinities, where nothing is known; 0: none"})
    speed: float = field(default=0.1, metadata={"help": "weight of the likelihood of speeds"})
    fee: float = field(default=0.3, metadata={"help": "what a percent of fee is worth, in percent of completion time"})
    patience: float = field(default=1.0, metadata={"help": "how fast later jobs fade, in mean completion times"})
    validation: int = field(default=16, metadata={"help": "sequences a network is chosen by, of each setting"})
    every: int = field(default=5, metadata={"help": "rounds between validations"})

    def __post_init__(self) -> None:
        for name, low, high in (
            ("iterations", 0, 10**6),
            ("sequences", 1, 10**4),
            ("episodes", 2, 10**4),
            ("epochs", 1, 10**3),
            ("neighbours", 0, 10**6),
            ("rules", 0, 10**6),
            ("warm_up", 0, 10**6),
            ("rate", 1e-9, 1.0),
            ("clip", 1e-3, 10.0),
            ("order_noise", 0.0, 1e3),
            ("start_noise", 0.0, 1e3),
            ("place_noise", 0.0, 1e3),
            ("speed", 0.0, 1e3),
            ("fee", 0.0, 1e3),
            ("patience", 1e-2, 1e6),
            ("validation", 1, 10**4),
            ("every", 1, 10**6),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")
        if self.episodes % 2:
            raise ConfigError(f"episodes is {self.episodes}, but they come in pairs of opposite noise")


class OrderBatch:
    """The ordering agent's turns of one episode, in pieces, padded; and what of them counts for which job."""

    def __init__(self, turns: Sequence[Ordered], jobs: int, start_noise: float) -> None:
        self._jobs = jobs
        at_stake = np.zeros((2, jobs))  # of each job, in sum: decisions among several; how likely noise changes one
        for turn in turns:
            at_stake[0, turn.job_id[turn.possible]] += len(turn.possible) > 1
            np.add.at(at_stake[1], turn.job_id[turn.asked], doubt(turn.margin, start_noise))
        share = 1.0 / np.maximum(at_stake, np.array([[1.0], [LEAST_DOUBT]]))
        self.acted = torch.as_tensor((at_stake > np.array([[0.0], [LEAST_DOUBT]])).astype(np.float64))  # (2, N)
        ordered = sorted(turns, key=lambda turn: len(turn.job_id))
        self._pieces = [
            _OrderPiece(ordered[first : first + PIECE], share, start_noise) for first in range(0, len(ordered), PIECE)
        ]

    def scores(self, network: DasNetwork) -> Tensor:
        """(2, N) mean priority and mean readiness of each job."""
        found = torch.zeros((2, self._jobs), dtype=torch.float64)
        for piece in self._pieces:
            found = piece.add(network, found)
        return found


class _OrderPiece:
    def __init__(self, turns: Sequence[Ordered], share: Floats, start_noise: float) -> None:
        count, most = len(turns), max(len(turn.jobs) for turn in turns)
        jobs, there = np.zeros((count, most, len(JOB_COLUMNS))), np.zeros((count, most))
        for row, turn in enumerate(turns):
            jobs[row, : len(turn.jobs)], there[row, : len(turn.jobs)] = turn.jobs, 1.0
        machines = np.array([turn.machines for turn in turns]).reshape(count, -1, len(MACHINE_COLUMNS))
        self._jobs, self._there, self._machines = map(torch.as_tensor, (jobs, there, machines))
        choices = [(row, turn) for row, turn in enumerate(turns) if len(turn.possible) > 1]
        self._order = _rows([(row, turn, turn.possible) for row, turn in choices])
        self._order_weight = torch.as_tensor(share[0][self._order[2].numpy()])
        possible = np.zeros((count, most))
        for row, turn in choices:
            possible[row, turn.possible] = 1.0 / len(turn.possible)
        self._possible = torch.as_tensor(possible)
        self._start = _rows([(row, turn, turn.asked) for row, turn in enumerate(turns)])
        self._columns = torch.as_tensor(np.concatenate([turn.columns for turn in turns]))
        margin = np.concatenate([turn.margin for turn in turns])
        self._start_weight = torch.as_tensor(doubt(margin, start_noise) * share[1][self._start[2].numpy()])

    def add(self, network: DasNetwork, found: Tensor) -> Tensor:
        judged = network.judged_jobs(self._jobs, self._there, self._machines)
        priority = judged[..., 0] - (judged[..., 0] * self._possible).sum(dim=1, keepdim=True)  # against the others
        row, place, job = self._order
        order = found[0].index_add(0, job, priority[row, place] * self._order_weight)
        row, place, job = self._start
        ready = judged[row, place, 1] + self._columns @ network.named["start.base"]
        return torch.stack((order, found[1].index_add(0, job, ready * self._start_weight)))


class PlaceBatch:
    """Turns of the placement agent in one cluster, padded: machines that jobs might use, then what was remembered."""

    def __init__(self, turns: Sequence[PlacedOne], log_ratio: Floats) -> None:
        """`log_ratio`: the measured speed of each job against what was expected; nan: unknown."""
        count, most = len(turns), max(len(turn.variance) for turn in turns)
        remembered = max(len(turn.surprise) for turn in turns)
        together = [meeting_places(turn.at, len(turn.rack)) for turn in turns]
        size = (count, most + remembered)
        nodes, there = np.zeros((*size, len(NODE_COLUMNS))), np.zeros(size)
        rack = np.zeros((*size, int(turns[0].rack.max()) + 1))
        machine = np.zeros((*size, max(columns for _, columns in together)))
        surprise, age = np.zeros((count, remembered)), np.zeros((count, remembered))
        variance, where = np.ones((count, most)), np.zeros((count, most), np.int64)
        for row, (turn, (number, _)) in enumerate(zip(turns, together, strict=True)):
            might, known = len(turn.variance), len(turn.surprise)
            at = np.concatenate((np.arange(might), most + np.arange(known)))
            nodes[row, at], there[row, at], rack[row, at, turn.rack[turn.at]] = turn.nodes, 1.0, 1.0
            shared = number[turn.at] >= 0
            machine[row, at[shared], number[turn.at][shared]] = 1.0
            surprise[row, :known], age[row, :known] = turn.surprise, turn.age
            variance[row, :might], where[row, :might] = turn.variance, turn.at[:might]
        self.nodes, self.there, self.surprise, self.age = map(torch.as_tensor, (nodes, there, surprise, age))
        self.near = Near(torch.as_tensor(rack), torch.as_tensor(machine))
        self.possible = self.there[:, :most]
        self.matters = (self.possible.sum(dim=1) > 1).double()  # there was something to choose
        self.deviation, self.where = torch.as_tensor(np.sqrt(variance)), torch.as_tensor(where)
        self.job_id = torch.as_tensor(np.array([turn.job_id for turn in turns], np.int64))
        self.best = torch.as_tensor(np.array([turn.best for turn in turns], np.int64))
        self.known = torch.as_tensor(np.isfinite(log_ratio).astype(np.float64))
        self.log_ratio = torch.as_tensor(np.nan_to_num(log_ratio))

    def judged(self, network: DasNetwork) -> tuple[Tensor, Tensor, Tensor]:
        """(n, C) affinity against the mean of the machines it might use, in units of what is not known; (n,) squared
        error of the logarithm of the speed where the job was put; and its negative log likelihood."""
        placed = network.affinities(self.nodes, self.near, self.surprise, self.age, self.there)
        middle = (placed.mean * self.possible).sum(dim=1, keepdim=True) / self.possible.sum(dim=1, keepdim=True)
        affinity = (placed.mean - middle) / self.deviation * self.possible
        speed, doubt = (part.gather(1, self.best[:, None])[:, 0] for part in (placed.speed, placed.variance))
        error = (speed - self.log_ratio) ** 2 * self.known
        if not network.shape.random_walk:
            return affinity, error, 0.5 * error / USUAL_VARIANCE
        p = network.named
        variance = (2.0 * p["place.walk.amplitude"][0]).exp() * (doubt + p["place.walk.noise"][0].exp())
        return affinity, error, 0.5 * (error / variance + variance.log() * self.known)


def doubt(margin: Floats, noise: float) -> Floats:
    """How likely noise would have changed a decision that was taken by this margin, against one at 0."""
    found: Floats = np.exp(-0.5 * (margin / max(noise, 1e-9)) ** 2)
    return found


def weigh_later(arrival_s: Floats, finish_s: Floats, from_s: Floats, patience_s: float) -> Floats:
    """(N, N) how much job i (columns) counts for what was done about job j (rows) at `from_s`."""
    later_s = np.maximum(arrival_s[None, :] - from_s[:, None], 0.0)
    found: Floats = np.exp(-later_s / patience_s) * (finish_s[None, :] > from_s[:, None])
    return found


def surrogate(log_ratio: Tensor, advantage: Tensor, weight: Tensor, clip: float) -> tuple[Tensor, ...]:
    """Mean over episodes (rows), sum over turns (columns): the clipped objective, ratios outside, divergence."""
    log_ratio = log_ratio.clamp(-20.0, 20.0)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    outside = ((ratio - clipped).abs() > 0).double()
    gained = torch.minimum(ratio * advantage, clipped * advantage)
    divergence = ratio - 1.0 - log_ratio
    gained, outside, divergence = ((part * weight).sum() / len(part) for part in (gained, outside, divergence))
    return gained, outside, divergence


def _rows(turns: Sequence[tuple[int, Ordered, np.ndarray]]) -> tuple[Tensor, Tensor, Tensor]:
    """Row, place in the queue and number of every job that is named."""
    row = np.concatenate([np.full(len(jobs), number) for number, _, jobs in turns] or [np.zeros(0)])
    place = np.concatenate([jobs for _, _, jobs in turns] or [np.zeros(0)])
    job = np.concatenate([turn.job_id[jobs] for _, turn, jobs in turns] or [np.zeros(0)])
    return tuple(torch.as_tensor(part.astype(np.int64)) for part in (row, place, job))  # type: ignore[return-value]
