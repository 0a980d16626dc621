"""MAPPO (Yu et al., 2022) for the two agents of DAS: clipped policy gradients with a central critic.

Both agents share what came of a decision.  Its advantage is what the decision saved: cost from then on, fading with
time, against that of other episodes with the same jobs and the same luck (`baseline`), less what the critic, which sees
both agents' observations, expected of such a state.  Costs are the time jobs spend in the system and the fees they pay,
each in units of its mean.

    L = - sum over agents of E[min(ratio A, clip(ratio, 1 - eps, 1 + eps) A)]
        - entropy H + critic (A - V)^2 + speed (y - y')^2

The last term makes the placement agent's process predict the speeds that were measured.  Only scores that could matter
count: of jobs that might have started, for machines that might have taken them; the others are integrated out.

Before the first round, it is learned who slows whom down (`neighbours`) and how fast jobs are where (the last term
alone); then the rules of thumb that the network corrects, and the one that says who had better wait (a weight for each
column), are improved by evolution strategies (`evolution`).  That is quick for so few numbers, and it tries rules for
whole episodes: a job that is let wait is let wait at every decision, where noise at each would soon start it.

Departures.  The published critic is a Q of the joint action with one-step targets, and the reward r = 1 / (fee x jct)
for a job that starts and a penalty for one that waits.  A sum of inverses rewards starting the short ones whatever it
costs the long; costs themselves are what is to be made small.

Metrics, means over turns: `gained_order`, `gained_place` the objectives of the two agents; `outside_*` share of ratios
outside the clip; `moved_*` divergence of the new policy from the old; `critic`, `speed` squared errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS
from dovetail.schedulers.learned.das.forward import meeting_places
from dovetail.schedulers.learned.das.network import DasNetwork, Near, log_probability
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS
from dovetail.training.das_explorer import Ordered, PlacedOne

LOG_2_PI = float(np.log(2.0 * np.pi))
CRITIC_COLUMNS = 2 * len(JOB_COLUMNS) + len(MACHINE_COLUMNS) + 2


@dataclass(frozen=True)
class MappoPlan:
    """How to learn."""

    iterations: int = field(default=100, metadata={"help": "rounds of playing and learning"})
    sequences: int = field(default=4, metadata={"help": "job sequences in a round"})
    episodes: int = field(default=4, metadata={"help": "times each of them is played in a round"})
    epochs: int = field(default=3, metadata={"help": "steps of learning from a round"})
    neighbours: int = field(
        default=40, metadata={"help": "episodes at random from which it is learned who slows whom down; 0: it is not"}
    )
    rules: int = field(
        default=40, metadata={"help": "steps of evolution of the rules of thumb, before the first round"}
    )
    warm_up: int = field(default=3, metadata={"help": "rounds in which only speeds are learned, before all others"})
    rate: float = field(default=3e-4, metadata={"help": "learning rate"})
    clip: float = field(default=0.2, metadata={"help": "how far a ratio may go"})
    entropy: float = field(default=1e-3, metadata={"help": "weight of the entropy"})
    critic: float = field(default=0.5, metadata={"help": "weight of the critic's error"})
    speed: float = field(default=1.0, metadata={"help": "weight of the error of predicted speeds"})
    fee: float = field(default=0.3, metadata={"help": "what a percent of fee is worth, in percent of completion time"})
    patience: float = field(default=3.0, metadata={"help": "how fast the future fades, in mean completion times"})
    validation: int = field(default=16, metadata={"help": "sequences a network is chosen by, of each setting"})
    every: int = field(default=5, metadata={"help": "rounds between validations"})

    def __post_init__(self) -> None:
        for name, low, high in (
            ("iterations", 1, 10**6),
            ("sequences", 1, 10**4),
            ("episodes", 2, 10**3),
            ("epochs", 1, 10**3),
            ("neighbours", 0, 10**6),
            ("rules", 0, 10**6),
            ("warm_up", 0, 10**6),
            ("rate", 1e-9, 1.0),
            ("clip", 1e-3, 10.0),
            ("entropy", 0.0, 1e3),
            ("critic", 0.0, 1e3),
            ("speed", 0.0, 1e3),
            ("fee", 0.0, 1e3),
            ("patience", 1e-2, 1e6),
            ("validation", 1, 10**4),
            ("every", 1, 10**6),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")


class Critic(nn.Module):
    """What is to be expected of a state, from both agents' observations, pooled."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.inside = nn.Linear(CRITIC_COLUMNS, hidden, dtype=torch.float64)
        self.out = nn.Linear(hidden, 1, dtype=torch.float64)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, pooled: Tensor) -> Tensor:
        found: Tensor = self.out(torch.tanh(self.inside(pooled)))[:, 0]
        return found


def pooled(jobs: Floats, machines: Floats, possible: int) -> Floats:
    """(CRITIC_COLUMNS,) of one state."""
    counts = (np.log1p(len(jobs)), np.log1p(possible))
    return np.concatenate((jobs.mean(axis=0), np.log1p(jobs.sum(axis=0).clip(0.0)), machines.mean(axis=0), counts))


class OrderBatch:
    """Turns of the ordering agent, padded."""

    def __init__(self, turns: Sequence[Ordered], advantage: Floats) -> None:
        most = max((len(turn.jobs) for turn in turns), default=1)
        count = len(turns)
        jobs, there = np.zeros((count, most, len(JOB_COLUMNS))), np.zeros((count, most))
        drawn, possible = np.zeros((count, most)), np.zeros((count, most))
        for row, turn in enumerate(turns):
            jobs[row, : len(turn.jobs)], there[row, : len(turn.jobs)] = turn.jobs, 1.0
            drawn[row, turn.possible], possible[row, turn.possible] = turn.drawn, 1.0
        machines = np.array([turn.machines for turn in turns]).reshape(count, -1, len(MACHINE_COLUMNS))
        states = [pooled(turn.jobs, turn.machines, len(turn.possible)) for turn in turns]
        self.jobs, self.there, self.machines = map(torch.as_tensor, (jobs, there, machines))
        self.drawn, self.possible, self.advantage = map(torch.as_tensor, (drawn, possible, advantage))
        self.states = torch.as_tensor(np.array(states).reshape(count, CRITIC_COLUMNS))

    def log_probability(self, network: DasNetwork) -> tuple[Tensor, Tensor]:
        """(n,) of what was drawn, and the entropy."""
        mean = network.priorities(self.jobs, self.there, self.machines)
        log_std = network.named["order.log_std"][0]
        off = (self.drawn - mean) / log_std.exp() * self.possible
        count = self.possible.sum(dim=1)
        return -0.5 * (off**2).sum(dim=1) - count * (log_std + 0.5 * LOG_2_PI), count * (log_std + 0.5 * (1 + LOG_2_PI))


class PlaceBatch:
    """Turns of the placement agent in one cluster, padded: machines that jobs might use, then what was remembered."""

    def __init__(self, turns: Sequence[PlacedOne], advantage: Floats, log_ratio: Floats) -> None:
        """`log_ratio`: the measured speed of each job against what was expected; nan: unknown."""
        count, most = len(turns), max(len(turn.drawn) for turn in turns)
        remembered = max(len(turn.surprise) for turn in turns)
        together = [meeting_places(turn.at, len(turn.rack)) for turn in turns]
        size = (count, most + remembered)
        nodes, there = np.zeros((*size, len(NODE_COLUMNS))), np.zeros(size)
        rack = np.zeros((*size, int(turns[0].rack.max()) + 1))
        machine = np.zeros((*size, max(columns for _, columns in together)))
        drawn, surprise = np.zeros((count, most)), np.zeros((count, remembered))
        for row, (turn, (number, _)) in enumerate(zip(turns, together, strict=True)):
            might, known = len(turn.drawn), len(turn.surprise)
            at = np.concatenate((np.arange(might), most + np.arange(known)))
            nodes[row, at], there[row, at], rack[row, at, turn.rack[turn.at]] = turn.nodes, 1.0, 1.0
            shared = number[turn.at] >= 0
            machine[row, at[shared], number[turn.at][shared]] = 1.0
            drawn[row, :might], surprise[row, :known] = turn.drawn, turn.surprise
        self.nodes, self.there, self.drawn, self.surprise = map(torch.as_tensor, (nodes, there, drawn, surprise))
        self.near = Near(torch.as_tensor(rack), torch.as_tensor(machine))
        self.possible = self.there[:, :most]
        self.matters = (self.possible.sum(dim=1) > 1).double()  # there was something to choose
        self.best = torch.as_tensor(np.array([turn.best for turn in turns], np.int64))
        self.advantage = torch.as_tensor(advantage)
        self.known = torch.as_tensor(np.isfinite(log_ratio).astype(np.float64))
        self.log_ratio = torch.as_tensor(np.nan_to_num(log_ratio))

    def judged(self, network: DasNetwork) -> tuple[Tensor, Tensor, Tensor]:
        """(n,) log probability of what was drawn, entropy, predicted log speed where the job was put."""
        placed = network.affinities(self.nodes, self.near, self.surprise, self.there)
        density, entropy = log_probability(self.drawn, placed, self.possible)
        return density, entropy, placed.speed.gather(1, self.best[:, None])[:, 0]


def surrogate(
    log_probability: Tensor, old: Tensor, advantage: Tensor, weight: Tensor, clip: float
) -> tuple[Tensor, ...]:
    """Sum of the clipped objective, of ratios outside the clip, and of the approximate divergence."""
    ratio = (log_probability - old).clamp(-20.0, 20.0).exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    outside = ((ratio - clipped).abs() > 0).double()
    gained = torch.minimum(ratio * advantage, clipped * advantage)
    divergence = ratio - 1.0 - (log_probability - old)
    return (gained * weight).sum(), (outside * weight).sum(), (divergence * weight).sum()
