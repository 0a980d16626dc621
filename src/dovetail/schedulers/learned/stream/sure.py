"""SURE (Xing, Mao, Xiao: Fast and fine-grained autoscaler for streaming jobs with reinforcement learning, IJCAI 2022).

The history of a job is a graph: its operators in every snapshot, joined by the flow of records within one and by time
between them.  It is unnecessary to look at all of it, so for each operator v a subgraph is sampled:

    h = relu(W x + b)                               all operators, all snapshots
    Omega = mu(h_v) + eps exp(log var(h_v) / 2)     over v's own snapshots: a logistic-normal distribution
    theta = softmax(Omega)                          how much each snapshot matters
    k1 snapshots by Gumbel top-k of theta           without replacement
    phi = softmax(...)                              how much each downstream neighbour matters there, likewise
    k2 of them in each                              a share of its own that are within some hops

The subgraph is the chosen copies of v, consecutive ones joined, each joined to its chosen neighbours.  A graph
isomorphism network (sum over neighbours, then a perceptron, some layers) and a sum over the subgraph encode it; a
residual feed-forward layer adds what v itself is like now; the policy head makes an action of it.

Gradients reach the weights by the straight-through estimator: what was chosen is multiplied by 1 + s - stop(s), s being
its probability to be chosen.  Without noise (deciding), the largest weights are taken.

Departures.  The published code casts the selection to booleans, which cuts that gradient; scales the noise by the
variance; and lets the chosen snapshots alone speak of the present.  Sums over the subgraph are divided by k1, those
over neighbours by the root of how many there may be, which changes nothing but the scale.

`sampler`: `random` draws by noise alone, `none` takes everything (the full graph).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, linear, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph, Singles
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

MOST_LOG_VARIANCE = 4.0
NOT_THERE, TINY = -1e9, 1e-20


class Noise(NamedTuple):
    """What is drawn for a forward pass of W worlds; see `draw_noise`."""

    normal: Singles  # (W, L, O) the importance of snapshots
    gumbel: Singles  # (W, L, O) which of them
    gumbel_near: Singles  # (W, k1, O, M) which neighbours


class Sampled(NamedTuple):
    """What the objective of the sampler reads."""

    mean: Array  # (W, L, O) mu
    log_variance: Array  # (W, L, O)
    weights: Array  # (W, L, O) Omega
    chosen: Array  # (W, k1, O) snapshots
    theta: Array  # (W, L, O)
    encoded: Array  # (W, O, D) of the subgraph


def snapshots_taken(shape: StreamShape, history: int) -> int:
    """k1."""
    return history if shape.sampler == "none" else min(shape.snapshots, history)


def neighbours_taken(shape: StreamShape, graph: Graph) -> Singles:
    """(O,) k2 of each operator."""
    count: Singles = graph.near_there.sum(axis=1)
    return count if shape.sampler == "none" else np.ceil(np.float32(shape.share) * count)


def shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    width = shape.width
    found = linear_shapes("project", len(COLUMNS), width)
    for name in ("time.mean", "time.log_variance", "near.other", "near.own"):
        found |= linear_shapes(name, width, 1)
    for layer in range(shape.layers):
        found |= linear_shapes(f"gin.{layer}.first", width, width) | linear_shapes(f"gin.{layer}.second", width, width)
        found[f"gin.{layer}.self"] = (1,)
    found |= linear_shapes("feed.first", width, width) | linear_shapes("feed.second", width, width)
    return found | head_shapes(shape, 2 * width)


def draw_noise(rng: np.random.Generator, shape: StreamShape, worlds: int, history: int, graph: Graph) -> Noise:
    operators, near = graph.near.shape
    size = (worlds, history, operators)
    chosen = snapshots_taken(shape, history)
    normal = rng.standard_normal(size, np.float32)
    return Noise(normal, _gumbel(rng, size), _gumbel(rng, (worlds, chosen, operators, near)))


def _gumbel(rng: np.random.Generator, size: tuple[int, ...]) -> Singles:
    found: Singles = -np.log(rng.standard_exponential(size, np.float32) + TINY)
    return found


def forward(
    ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph, noise: Noise | None
) -> tuple[Array, Sampled]:
    """(W, L, O, F) -> (W, O) means of actions, and what was sampled on the way."""
    projected = ops.relu(linear(parameters, "project", features))  # (W, L, O, D)
    mean = linear(parameters, "time.mean", projected)[..., 0]
    log_variance = ops.clip(
        linear(parameters, "time.log_variance", projected)[..., 0], -MOST_LOG_VARIANCE, MOST_LOG_VARIANCE
    )
    weights = mean if noise is None else mean + ops.constant(noise.normal) * ops.exp(0.5 * log_variance)
    theta = ops.softmax(weights, 1)
    chosen = choose(
        ops, shape, theta, None if noise is None else noise.gumbel, snapshots_taken(shape, features.shape[1])
    )
    part = gather(ops, shape, parameters, projected, graph, theta, chosen, noise)
    encoded = encode(ops, shape, parameters, part)
    fed = linear(parameters, "feed.second", ops.relu(linear(parameters, "feed.first", encoded)))
    together = ops.concat([encoded + fed, projected[:, -1]], -1)
    return head(ops, parameters, together), Sampled(mean, log_variance, weights, chosen, theta, encoded)


class Subgraph(NamedTuple):
    """Of every operator in every world; N neighbours in all, in the order of the copies they belong to."""

    own: Array  # (W, k1, O, D) its chosen copies
    near: Array  # (N, D) their chosen neighbours
    anchor: Array  # (N,) whose: position among W * k1 * O copies


def choose(ops: Ops, shape: StreamShape, weights: Array, gumbel: Singles | None, count: int) -> Array:
    """(W, k1, O) snapshots, `count` draws without replacement; the largest where nothing is drawn.

    A random sampler draws by noise alone; where nothing is drawn, snapshots at equal distances.
    """
    if shape.sampler == "random":
        if gumbel is None:
            at = np.linspace(0, weights.shape[1] - 1, count).round().astype(np.int64)
            return ops.broadcast(ops.constant(at[None, :, None]), (weights.shape[0], count, *weights.shape[2:]))
        return ops.largest(ops.constant(gumbel), count, 1)
    logits = ops.detached(weights)
    if gumbel is not None:
        logits = ops.log(logits + TINY) + ops.constant(gumbel)
    return ops.largest(logits, count, 1)


def gather(
    ops: Ops,
    shape: StreamShape,
    parameters: Parameters,
    projected: Array,
    graph: Graph,
    theta: Array,
    chosen: Array,
    noise: Noise | None,
) -> Subgraph:
    worlds, _, operators, _ = projected.shape
    count = chosen.shape[1]
    world = ops.constant(np.arange(worlds)[:, None, None])
    operator = ops.constant(np.arange(operators)[None, None, :])
    own = projected[world, chosen, operator] * gate(ops, count * ops.take(theta, chosen, 1))[..., None]
    near_index, there = ops.constant(graph.near), ops.constant(graph.near_there)[None, None]
    other = linear(parameters, "near.other", projected)[..., 0]  # of every operator, before any is gathered
    scores = other[world[..., None], chosen[..., None], near_index[None, None]] + linear(parameters, "near.own", own)
    phi = ops.softmax(scores + (1.0 - there) * NOT_THERE, -1) * there
    wanted = neighbours_taken(shape, graph)
    picked = pick(ops, shape, ops.detached(phi), there, wanted, None if noise is None else noise.gumbel_near)
    at_world, at_copy, at_operator, at_near = ops.where(picked)
    near = projected[at_world, chosen[at_world, at_copy, at_operator], near_index[at_operator, at_near]]
    chance = ops.constant(wanted)[at_operator] * phi[at_world, at_copy, at_operator, at_near]
    anchor = (at_world * count + at_copy) * operators + at_operator
    return Subgraph(own, near * gate(ops, chance)[..., None], anchor)


def pick(ops: Ops, shape: StreamShape, phi: Array, there: Array, wanted: Singles, gumbel: Singles | None) -> Array:
    """(W, k1, O, M) which neighbours are taken: so many of those that there are, as with `choose`."""
    if shape.sampler == "random":
        order = there + 0.0 * phi if gumbel is None else ops.constant(gumbel) + 0.0 * phi
    else:
        order = ops.log(phi + TINY) + (0.0 if gumbel is None else ops.constant(gumbel))
    return ops.rank(order + (there - 1.0) * -NOT_THERE) < ops.constant(wanted)[:, None]


def gate(ops: Ops, chance: Array) -> Array:
    """1, with the gradient of the chance to be chosen (straight-through)."""
    soft = ops.clip(chance, 0.0, 1.0)
    return 1.0 + soft - ops.detached(soft)


def encode(ops: Ops, shape: StreamShape, parameters: Parameters, part: Subgraph) -> Array:
    """(W, O, D): the graph isomorphism network over the subgraph, summed."""
    own, near, anchor = part
    count, size = own.shape[1], own.shape
    scale = 1.0 / float(np.sqrt(3.0 + shape.share * shape.neighbours))
    copies = size[0] * size[1] * size[2]
    for layer in range(shape.layers):
        keep = 1.0 + parameters[f"gin.{layer}.self"]
        zero = own[:, :1] * 0.0
        before = ops.concat([zero, own[:, :-1]], 1)
        after = ops.concat([own[:, 1:], zero], 1)
        around = ops.sum_by(near, anchor, copies).reshape(size) + before + after
        joined = keep * near + own.reshape(copies, -1)[anchor]
        own = perceptron(ops, parameters, layer, scale * (keep * own + around))
        near = perceptron(ops, parameters, layer, scale * joined)
    return (ops.sum(own, 1) + ops.sum(ops.sum_by(near, anchor, copies).reshape(size), 1)) / count


def perceptron(ops: Ops, parameters: Parameters, layer: int, x: Array) -> Array:
    return ops.relu(linear(parameters, f"gin.{layer}.second", ops.relu(linear(parameters, f"gin.{layer}.first", x))))
