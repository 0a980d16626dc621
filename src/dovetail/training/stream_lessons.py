"""What learned autoscalers are taught by one who knows the future.

The network plays, and is told afterwards, for every operator, what each number of instances would have been worth in
the interval that came (`schedulers.optimise.stream.hindsight`).  With p the instances that its action stands for, not
rounded, what it lost is

    regret = max over k of worth(k) - worth(p)         worth(p) between whole numbers by interpolation

summed over the operators of a job, which beyond `MOST_REGRET` counts little more: an hour that nobody could foresee
would drown what is learned from all others.  What is made small is the mean over moments.  Nothing has to be explored,
and the network learns how much to spare from what being short really costs, given what it can see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Floats, Reason
from dovetail.features.stream import StreamFeatures
from dovetail.schedulers.learned.stream.action import Actuator, wanted_instances
from dovetail.schedulers.learned.stream.arrays import Parameters
from dovetail.schedulers.learned.stream.compiled import COMPILED
from dovetail.schedulers.learned.stream.graph import Graph, Singles, graph_of
from dovetail.schedulers.learned.stream.kinds import draw, forward
from dovetail.schedulers.learned.stream.shape import Action, StreamShape
from dovetail.schedulers.optimise.stream.hindsight import Hindsight
from dovetail.sim.stream import StreamWorld

TRIED_STD = 0.3  # of actions while the teacher watches, so that more than the usual is seen
MOST_REGRET, BEYOND = 1.0, 0.02
LEAST_DEMAND = 1e-3  # instances; below, changes of it do not count


@dataclass(frozen=True, eq=False)
class Lesson:
    """One sequence: T decisions for each of O operators with up to P instances."""

    graph: Graph
    features: Singles  # (T, L, O, F)
    worths: Singles  # (T, O, P) of each number of instances; nan: more than it may have
    demand: Singles  # (T, O) as the action takes it
    now: Singles  # (T, O) instances it had
    change: Singles  # (T, O) of the logarithm of demand until the next decision
    most: Singles  # (O,)


def taught(
    kind: str, shape: StreamShape, parameters: Parameters, world: StreamWorld, seeds: SeedTree
) -> tuple[Lesson, float]:
    """Play one world; also the mean reward of it."""
    info = world.info
    graph = graph_of(info, shape.hops, shape.neighbours)
    rows, teacher = StreamFeatures(info), Hindsight(world.info_for(Hindsight))
    actuator = Actuator(info, shape.action, rows.memory)
    rng, drawn = seeds.child("actions").generator(), seeds.child("noise").generator()
    seen: list[tuple[Singles, Floats, Floats, Floats]] = []
    while (view := world.advance()) is not None:
        features = rows.of(view)
        noise = draw(kind, drawn, shape, 1, info.history, graph)
        mean = forward(COMPILED, kind, shape, parameters, features[None], graph, noise).mean[0]
        demand = actuator.demand(view)
        if (worths := teacher.worths(view)) is not None:
            seen.append((features, worths, demand, view.parallelism.astype(np.float64)))
        tried = mean + TRIED_STD * rng.standard_normal(mean.shape, np.float32)
        world.apply(actuator.decisions(view, demand, tried, Reason.LEARNED))
    rows_seen, worth, wanted, now = (
        np.ascontiguousarray(np.stack(part), np.float32) for part in zip(*seen, strict=True)
    )
    lesson = Lesson(graph, rows_seen, worth, wanted, now, change_of(wanted), info.operator_max.astype(np.float32))
    return lesson, float(world.result().reward.mean())


def change_of(demand: Floats | Singles) -> Singles:
    """(T, ...) of the logarithm, until the next decision; 0 at the last."""
    logarithm = np.log(demand + LEAST_DEMAND)
    return np.diff(logarithm, axis=0, append=logarithm[-1:]).astype(np.float32)


def regret(action: Action, lesson: Lesson, moments: np.ndarray, actions: Tensor) -> Tensor:
    """Mean over these moments of what actions (W, O) would have lost; a scalar."""
    worths = torch.as_tensor(lesson.worths[moments]).nan_to_num(nan=-1e9)
    demand, now, most = map(torch.as_tensor, (lesson.demand[moments], lesson.now[moments], lesson.most))
    count = torch.maximum(torch.minimum(wanted_instances(action, now, demand, actions), most), torch.ones_like(now))
    below = count.detach().floor()
    above = torch.minimum(below + 1.0, most)
    low, high = (worths.gather(2, (each.long() - 1)[..., None])[..., 0] for each in (below, above))
    lost = worths.max(dim=2).values - (low + (count - below) * (high - low))
    return (lost.clamp(max=MOST_REGRET) + BEYOND * (lost - MOST_REGRET).clamp(min=0.0)).sum(dim=1).mean()
