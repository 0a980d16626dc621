"""What learned autoscalers are trained to make small; `stream_plan` has the formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dovetail.schedulers.learned.stream import sure
from dovetail.schedulers.learned.stream.arrays import Parameters, linear, operators_first
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.training.stream_plan import StreamPlan
from dovetail.training.stream_torch import TORCH

LOG_2_PI = float(np.log(2.0 * np.pi))
OBJECTIVE = "objective."
"""Parameters that only training needs start with this."""
MOST_WHOLE_GRAPHS = 12  # operators whose whole graph is encoded at once, which takes much longer than a subgraph


class Losses(NamedTuple):
    total: Tensor
    figures: dict[str, float]


def objective_shapes(kind: str, shape: StreamShape) -> dict[str, tuple[int, ...]]:
    """Of the parameters that only training needs: how well an encoding goes with another."""
    return {f"{OBJECTIVE}match": (shape.width, shape.width)} if kind == "sure" else {}


def log_probability(actions: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """(W, O) of each operator's action."""
    off = (actions - mean) / log_std.exp()
    return -0.5 * off**2 - log_std - 0.5 * LOG_2_PI


def policy_loss(plan: StreamPlan, now: Tensor, old: Tensor, advantage: Tensor, log_std: Tensor) -> Losses:
    """Mean over worlds and operators."""
    entropy = log_std + 0.5 * (1.0 + LOG_2_PI)
    if plan.algorithm == "reinforce":
        gained = (now * advantage).mean()
        return Losses(-gained - plan.entropy * entropy, {"gained": gained.item()})
    ratio = (now - old).clamp(-20.0, 20.0).exp()
    clipped = ratio.clamp(1.0 - plan.clip, 1.0 + plan.clip)
    gained = torch.minimum(ratio * advantage, clipped * advantage).mean()
    outside = float(((ratio - clipped).abs() > 0).float().mean())
    return Losses(-gained - plan.entropy * entropy, {"gained": gained.item(), "outside": outside})


def sampler_loss(
    plan: StreamPlan, shape: StreamShape, parameters: Parameters, features: Tensor, graph: Graph, found: sure.Sampled
) -> Losses:
    """SURE's bound: divergence and likelihood of the weights, and what the subgraph tells of the whole graph."""
    mean, log_variance = found.mean, found.log_variance
    divergence = 0.5 * (log_variance.exp() + mean**2 - 1.0 - log_variance).mean()
    chosen = torch.gather(torch.log_softmax(found.weights, 1), 1, found.chosen)
    likelihood = (0.5 * log_variance + 0.5 * (found.weights - mean) ** 2 * (-log_variance).exp()).mean() - chosen.mean()
    information = (
        mutual_information(shape, parameters, features, graph, found.encoded)
        if plan.information
        else torch.zeros(())  # it takes longer than all the rest
    )
    total = plan.kl * divergence + plan.likelihood * likelihood - plan.information * information
    figures = {"divergence": divergence, "likelihood": likelihood, "information": information}
    return Losses(total, {name: value.item() for name, value in figures.items()})


def mutual_information(
    shape: StreamShape, parameters: Parameters, features: Tensor, graph: Graph, encoded: Tensor
) -> Tensor:
    """A lower bound, by the Jensen-Shannon estimator: a subgraph goes with its own whole graph, not with another's."""
    worlds = max(1, min(features.shape[0], -(-MOST_WHOLE_GRAPHS // features.shape[2])))
    if worlds * features.shape[2] < 2:
        return encoded.sum() * 0.0
    whole = whole_graphs(shape, parameters, features[:worlds], graph).flatten(0, 1)
    part = encoded[:worlds].flatten(0, 1)
    scores = part @ parameters[f"{OBJECTIVE}match"] @ whole.T
    same = torch.eye(len(scores), dtype=torch.bool)
    softplus = torch.nn.functional.softplus
    return -softplus(-scores[same]).mean() - softplus(scores[~same]).mean()


def whole_graphs(shape: StreamShape, parameters: Parameters, features: Tensor, graph: Graph) -> Tensor:
    """(W, O, D): the encoding of all snapshots with all neighbours."""
    projected = operators_first(TORCH, torch.relu(linear(parameters, "project", features)))
    slots = sure.slots_of(graph.near_there.sum(axis=1))  # those that are there come first
    near = projected.index_select(0, torch.as_tensor(graph.near[slots.whose, slots.place]))
    nodes = torch.cat([projected, near])
    encoded: Tensor = sure.encode(TORCH, shape, parameters, sure.Subgraph(nodes, slots.whose))
    return encoded
