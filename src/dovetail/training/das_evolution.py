"""What of a DAS network evolves: its rules of thumb, and the last layers of both agents, which correct them.

Whole episodes judge it, so nobody has to know which decision was to blame.  That suits so few numbers, and those that
come after a layer learned otherwise: the hidden layers come from regression (how long jobs wait, how fast they are),
and evolution finds what to make of them.

A step tries directions both ways, each pair on a job sequence of its own.  Small changes of a rule change who starts,
and then everything: what a pair costs differs by several percent for no other reason.  So they are tried far from each
other (`WIDTH`), where what the rule is worth shows above that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.core.gpu import Floats
from dovetail.schedulers.learned.das.shape import Parameters
from dovetail.training.evolution import EvolutionPlan

WIDTH = 0.45  # of rules; half of it in the end
EVOLVED = {
    "order.base": 1.0,
    "order.trust": 1.0,
    "start.base": 1.0,
    "place.base": 1.0,
    "place.speed": 1.0,
    "place.rack": 1.0,
    "place.walk.trust": 1.0,
    "order.out.weight": 0.25,
    "order.out.bias": 0.25,
    "place.out.weight": 0.25,
}
"""Parameters, and how far each is tried and moved: last layers add up many inputs, so less of each does as much."""
LARGEST = 2.5  # that a pair may differ, in units of what pairs do
RECENT = 0.1  # how much of the average the last step makes up


def evolution_plan(done: float, pairs: int) -> EvolutionPlan:
    """Of a step, when a share of all steps is done: ever shorter ones, and ever closer."""
    rate, width = 0.1 * (1.0 - 0.8 * done), WIDTH * (1.0 - 0.5 * done)
    return EvolutionPlan(pairs=pairs, sequences=1, width=width, rate=rate, largest=LARGEST)


def evolved_names(parameters: Parameters) -> list[str]:
    return [name for name in EVOLVED if name in parameters]


def evolved_of(parameters: Parameters) -> Floats:
    """All of it in a row."""
    return np.concatenate([parameters[name].ravel() for name in evolved_names(parameters)])


def scales_of(parameters: Parameters) -> Floats:
    """As long: how far each number is tried and moved."""
    return np.concatenate([np.full(parameters[name].size, EVOLVED[name]) for name in evolved_names(parameters)])


def with_evolved(parameters: Parameters, evolved: Floats) -> Parameters:
    """The same network with these numbers instead."""
    names = evolved_names(parameters)
    ends = np.cumsum([parameters[name].size for name in names])[:-1]
    parts = zip(names, np.split(evolved, ends), strict=True)
    return parameters | {name: part.reshape(parameters[name].shape) for name, part in parts}


def rewards_of_pairs(costs: Floats, weigh: Callable[[Floats], Floats]) -> Floats:
    """(2 P, 1) from the (2 P, 2) completion times and fees of networks of which number p and P + p met the same jobs;
    in units of what the two came to on average."""
    both = costs.reshape(2, len(costs) // 2, 2)
    found: Floats = -weigh(both / both.mean(axis=0)).reshape(-1, 1)
    return found
