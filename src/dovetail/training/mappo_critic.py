"""The central critic of `mappo`: what both agents see and do, and what is still to come of it.

Jobs, machines, and what was done (`Doing`) are sets of any size, so each element goes through a layer of its own and
the set is pooled, to its mean and its sum (deep sets, Zaheer et al., 2017):

    pool(X) = [mean over x of tanh(W x + b) ; sum over x of it / 16]
    h = tanh(W_h [pool(jobs) ; pool(machines)] + b_h)
    V(o) = w_v h + b_v,    A(o, a) = w_q tanh(W_a [h ; pool(priorities) ; pool(starts) ; pool(places)] + b_a) + b_q
    Q(o, a) = V(o) + A(o, a)

The actions are in it as the scores that were drawn, beside what each score was of: a job that might start and its
priority, a job that was asked whether to wait and what spoke for starting it, the machine a job was put on and how much
more affinity was drawn for it than for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS, START_COLUMNS
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS, Parameters
from dovetail.training.das_recorder import Ordered, PlacedOne

MANY = 16.0  # of a set: sums are in units of it
SCORE = 5.0  # scores are in units of it
SETS = {
    "jobs": len(JOB_COLUMNS),
    "machines": len(MACHINE_COLUMNS),
    "priorities": len(JOB_COLUMNS) + 1,
    "starts": len(START_COLUMNS) + 1,
    "places": len(NODE_COLUMNS) + 1,
}
SEEN, DONE = ("jobs", "machines"), ("priorities", "starts", "places")


class Bag(NamedTuple):
    """Elements of T sets, one after another."""

    element: Tensor  # (E, columns)
    turn: Tensor  # (E,) which set it is of


@dataclass(frozen=True, eq=False)
class Seen:
    """T turns as the critic sees them."""

    turns: int
    bags: Mapping[str, Bag]

    @classmethod
    def of(cls, turns: Sequence[Ordered], placed: Sequence[PlacedOne]) -> Seen:
        def bag(parts: Sequence[Floats], name: str, turn: Sequence[int] | None = None) -> Bag:
            numbers = range(len(parts)) if turn is None else turn
            at = np.repeat(np.array(numbers, np.int64), [len(part) for part in parts])
            rows = np.concatenate([np.zeros((0, SETS[name])), *parts])
            return Bag(torch.as_tensor(rows), torch.as_tensor(at))

        def with_score(rows: Floats, score: Floats) -> Floats:
            return np.column_stack((rows, score / SCORE))

        bags = {
            "jobs": bag([turn.jobs for turn in turns], "jobs"),
            "machines": bag([turn.machines for turn in turns], "machines"),
            "priorities": bag(
                [with_score(turn.jobs[turn.possible], turn.priority[turn.possible]) for turn in turns], "priorities"
            ),
            "starts": bag([with_score(turn.columns, turn.margin) for turn in turns], "starts"),
            "places": bag(
                [
                    with_score(one.nodes[one.best][None], one.score[one.best : one.best + 1] - one.score.mean())
                    for one in placed
                ],
                "places",
                [one.turn for one in placed],
            ),
        }
        return cls(len(turns), bags)


def sizes(width: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for name, columns in SETS.items():
        found |= {f"{name}.weight": (columns, width), f"{name}.bias": (width,)}
    found |= {"seen.weight": (2 * len(SEEN) * width, width), "seen.bias": (width,)}
    found |= {"value.weight": (width, 1), "value.bias": (1,)}
    found |= {"done.weight": ((1 + 2 * len(DONE)) * width, width), "done.bias": (width,)}
    return found | {"gain.weight": (width, 1), "gain.bias": (1,)}


def fresh(width: int, rng: np.random.Generator) -> Parameters:
    """Small random numbers; V and A begin with 0."""
    found: Parameters = {}
    for name, size in sizes(width).items():
        found[name] = rng.normal(size=size) / np.sqrt(size[0]) if name.endswith(".weight") else np.zeros(size)
    for name in ("value.weight", "gain.weight"):
        found[name] = np.zeros_like(found[name])
    return found


class Critic:
    def __init__(self, parameters: Parameters) -> None:
        self.named = {
            name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in parameters.items()
        }

    def judged(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """(T,) V, and (T,) A, through which V learns nothing."""
        p = self.named
        pooled = torch.cat([self._pool(seen, name) for name in SEEN], dim=1)
        h = torch.tanh(pooled @ p["seen.weight"] + p["seen.bias"])
        done = torch.cat([h.detach(), *(self._pool(seen, name) for name in DONE)], dim=1)
        hidden = torch.tanh(done @ p["done.weight"] + p["done.bias"])
        value = h @ p["value.weight"] + p["value.bias"]
        return value[:, 0], (hidden @ p["gain.weight"] + p["gain.bias"])[:, 0]

    def error(self, seen: Seen, target: Tensor) -> Tensor:
        """(T,) squared errors of V and of Q; V learns as if there were no A."""
        value, gain = self.judged(seen)
        found: Tensor = (value - target) ** 2 + (value.detach() + gain - target) ** 2
        return found

    def _pool(self, seen: Seen, name: str) -> Tensor:
        bag, p = seen.bags[name], self.named
        each = torch.tanh(bag.element @ p[f"{name}.weight"] + p[f"{name}.bias"])
        total = each.new_zeros((seen.turns, each.shape[1])).index_add(0, bag.turn, each)
        count = each.new_zeros(seen.turns).index_add(0, bag.turn, each.new_ones(len(bag.turn)))
        return torch.cat((total / count.clamp(min=1.0)[:, None], total / MANY), dim=1)


def td_errors(reward: Floats, value: Floats, keep: Floats) -> Floats:
    """(T,) r_t + keep_t V(o_t+1) - V(o_t); after the last turn nothing comes."""
    found: Floats = reward + keep * np.append(value[1:], 0.0) - value
    return found


def traced(error: Floats, keep: Floats, trace: float) -> Floats:
    """(T,) sum over k of the errors of turns t + k, each of which counts keep x trace as much as the one before."""
    found = np.zeros(len(error) + 1)
    for t in range(len(error) - 1, -1, -1):
        found[t] = error[t] + keep[t] * trace * found[t + 1]
    return found[:-1]


def keeps(time_s: Floats, patience_s: float) -> Floats:
    """(T,) gamma to the power of the time until the next turn; 0 after the last."""
    found: Floats = np.append(np.exp(-np.diff(time_s) / patience_s), 0.0)
    return found
