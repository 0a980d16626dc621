"""Evolution strategies: a network is improved by trying it slightly changed, both ways (Salimans et al., 2017).

Each iteration draws directions e, plays the parameters p + s e and p - s e on the same job sequences, and moves p along
the mean of the directions, each weighed by how much better the one played than the other.  Because both meet the same
sequences, what chance brings them cancels: an input-dependent baseline.  Nothing needs a gradient, which suits a policy
whose decisions are whole schedules, and utilities that come many slots later.

Metrics: `reward` mean of all that was played; `spread` how much the two ways differed; `step` length of the move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.elastic import Floats
from dovetail.core.errors import ConfigError

Play = Callable[[Floats], Floats]
"""(P, n) parameter vectors -> (P, T) rewards of each on T sequences, the same for all."""

MEAN, SQUARE = 0.9, 0.99  # Adam's memories


@dataclass(frozen=True)
class EvolutionPlan:
    """How to learn."""

    iterations: int = field(default=100, metadata={"help": "steps"})
    pairs: int = field(default=8, metadata={"help": "directions tried in a step, each both ways"})
    sequences: int = field(default=5, metadata={"help": "job sequences everybody plays in a step"})
    width: float = field(default=0.15, metadata={"help": "how far to try"})
    largest: float = field(
        default=1e3, metadata={"help": "how much a direction may count, in units of what they differ by"}
    )
    rate: float = field(default=0.03, metadata={"help": "how far to go"})
    hidden: int = field(default=8, metadata={"help": "units of the network's hidden layer"})
    validation: int = field(default=8, metadata={"help": "sequences a network is chosen by, of each setting"})
    every: int = field(default=10, metadata={"help": "steps between validations"})

    def __post_init__(self) -> None:
        for name, low, high in (
            ("iterations", 1, 10**6),
            ("pairs", 1, 10**4),
            ("sequences", 1, 10**4),
            ("width", 1e-6, 1e3),
            ("rate", 1e-9, 1e3),
            ("largest", 1e-3, 1e9),
            ("hidden", 1, 4096),
            ("validation", 1, 10**4),
            ("every", 1, 10**6),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")


@dataclass(eq=False)
class EvolutionState:
    """Where a run is."""

    parameters: Floats  # (n,)
    mean: Floats  # (n,) Adam's
    square: Floats  # (n,)
    iteration: int = 0

    @classmethod
    def start(cls, parameters: Floats) -> EvolutionState:
        return cls(parameters.copy(), np.zeros_like(parameters), np.zeros_like(parameters))


def step(
    state: EvolutionState, plan: EvolutionPlan, play: Play, rng: np.random.Generator, scale: Floats | float = 1.0
) -> dict[str, float]:
    """One iteration; returns its metrics.  `scale`, (n,) or one for all: how far each parameter is tried and moved."""
    direction = rng.normal(size=(plan.pairs, state.parameters.size))
    tried = np.concatenate((direction, -direction)) * (plan.width * scale) + state.parameters
    rewards = play(tried).reshape(2, plan.pairs, -1)
    usual = np.maximum(np.abs(rewards.mean(axis=(0, 1))), 1e-9)  # (T,): sequences count alike, rich or poor
    better = ((rewards[0] - rewards[1]) / usual).mean(axis=1)  # (pairs,)
    spread = float(np.sqrt((better**2).mean()))
    counts = np.clip(better / max(spread, 1e-9), -plan.largest, plan.largest)
    gradient = (counts[:, None] * direction).mean(axis=0)
    state.iteration += 1
    state.mean = MEAN * state.mean + (1 - MEAN) * gradient
    state.square = SQUARE * state.square + (1 - SQUARE) * gradient**2
    mean = state.mean / (1 - MEAN**state.iteration)
    square = state.square / (1 - SQUARE**state.iteration)
    move = plan.rate * scale * mean / (np.sqrt(square) + 1e-8)
    state.parameters = state.parameters + move
    return {"reward": float(rewards.mean()), "spread": spread, "step": float(np.linalg.norm(move))}
