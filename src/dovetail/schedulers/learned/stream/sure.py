"""SURE (Xing, Mao, Xiao: Fast and fine-grained autoscaler for streaming jobs with reinforcement learning, IJCAI 2022).

The history of a job is a graph: its operators in every snapshot, joined by the flow of records within one and by time
between them.  It is unnecessary to look at all of it, so for each operator v a subgraph is sampled:

    h = relu(W x + b)                               all operators, all snapshots
    Omega = mu(h_v) + eps exp(log var(h_v) / 2)     over v's own snapshots: a logistic-normal distribution
    theta = softmax(Omega)                          how much each snapshot matters
    k1 snapshots by Gumbel top-k of theta           without replacement
    phi = softmax(...)                              how much each downstream neighbour matters there, likewise
    k2 of them in each                              a share of those within some hops

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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, linear, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph, Singles
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

MOST_LOG_VARIANCE = 4.0
NOT_THERE = -1e9


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


@dataclass(frozen=True)
class Sizes:
    """How many are sampled, of how many there are."""

    snapshots: int
    near: int

    @classmethod
    def of(cls, shape: StreamShape, history: int, graph: Graph) -> Sizes:
        most = graph.near.shape[1]
        if shape.sampler == "none":
            return cls(history, most)
        return cls(min(shape.snapshots, history), max(1, int(np.ceil(shape.share * most))))


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
    chosen = Sizes.of(shape, history, graph).snapshots
    normal = rng.standard_normal(size, np.float32)
    return Noise(normal, _gumbel(rng, size), _gumbel(rng, (worlds, chosen, operators, near)))


def _gumbel(rng: np.random.Generator, size: tuple[int, ...]) -> Singles:
    found: Singles = -np.log(rng.standard_exponential(size, np.float32) + 1e-20)
    return found


def forward(
    ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph, noise: Noise | None
) -> tuple[Array, Sampled]:
    """(W, L, O, F) -> (W, O) means of actions, and what was sampled on the way."""
    sizes = Sizes.of(shape, features.shape[1], graph)
    projected = ops.relu(linear(parameters, "project", features))  # (W, L, O, D)
    mean = linear(parameters, "time.mean", projected)[..., 0]
    log_variance = ops.clip(
        linear(parameters, "time.log_variance", projected)[..., 0], -MOST_LOG_VARIANCE, MOST_LOG_VARIANCE
    )
    weights = mean if noise is None else mean + ops.constant(noise.normal) * ops.exp(0.5 * log_variance)
    theta = ops.softmax(weights, 1)
    chosen = choose(ops, shape, theta, None if noise is None else noise.gumbel, sizes.snapshots, 1)
    own, near, there = gather(ops, shape, parameters, projected, graph, theta, chosen, sizes, noise)
    encoded = encode(ops, shape, parameters, own, near, there)
    fed = linear(parameters, "feed.second", ops.relu(linear(parameters, "feed.first", encoded)))
    together = ops.concat([encoded + fed, projected[:, -1]], -1)
    return head(ops, parameters, together), Sampled(mean, log_variance, weights, chosen, theta, encoded)


def choose(ops: Ops, shape: StreamShape, weights: Array, gumbel: Array | None, count: int, axis: int) -> Array:
    """Positions of `count` draws without replacement; the largest where nothing is drawn.

    A random sampler draws by noise alone; where nothing is drawn, positions at equal distances.
    """
    if shape.sampler == "random":
        if gumbel is None:
            at = np.linspace(weights.shape[axis] - 1, 0, count).round().astype(np.int64)[::-1]
            size = [1] * len(weights.shape)
            size[axis] = count
            full = tuple(count if k == axis % len(size) else n for k, n in enumerate(weights.shape))
            return ops.broadcast(ops.constant(at.copy()).reshape(size), full)
        return ops.largest(ops.constant(gumbel), count, axis)
    logits = ops.detached(weights)
    if gumbel is not None:
        logits = ops.log(logits + 1e-20) + ops.constant(gumbel)
    return ops.largest(logits, count, axis)


def gather(
    ops: Ops,
    shape: StreamShape,
    parameters: Parameters,
    projected: Array,
    graph: Graph,
    theta: Array,
    chosen: Array,
    sizes: Sizes,
    noise: Noise | None,
) -> tuple[Array, Array, Array]:
    """The subgraph: own copies (W, k1, O, D), neighbours (W, k1, O, k2, D), and which of these exist (.., k2, 1)."""
    worlds, _, operators, _ = projected.shape
    world = ops.constant(np.arange(worlds)[:, None, None])
    operator = ops.constant(np.arange(operators)[None, None, :])
    own = projected[world, chosen, operator]
    own = own * gate(ops, ops.take(theta, chosen, 1), sizes.snapshots)[..., None]
    near_index = ops.constant(graph.near)
    there = ops.constant(graph.near_there)[None, None]
    other = linear(parameters, "near.other", projected)[..., 0]  # of every operator, before any is gathered
    scores = other[world[..., None], chosen[..., None], near_index[None, None]] + linear(parameters, "near.own", own)
    phi = ops.softmax(scores + (1.0 - there) * NOT_THERE, -1) * there
    drawn = choose(ops, shape, phi + there * 1e-9, None if noise is None else noise.gumbel_near, sizes.near, -1)
    exists = ops.take(ops.broadcast(there, tuple(phi.shape)), drawn, -1)[..., None]
    picked = projected[world[..., None], chosen[..., None], _of_near(ops, near_index, drawn)]
    picked = picked * gate(ops, ops.take(phi, drawn, -1), sizes.near)[..., None] * exists
    return own, picked, exists


def _of_near(ops: Ops, near: Array, drawn: Array) -> Array:
    """(W, k1, O, k2) operators from positions among the neighbours."""
    operator = ops.constant(np.arange(near.shape[0])[None, None, :, None])
    return near[operator, drawn]


def gate(ops: Ops, probability: Array, count: int) -> Array:
    """1, with the gradient of the chance to be among `count` draws (straight-through)."""
    soft = ops.clip(count * probability, 0.0, 1.0)
    return 1.0 + soft - ops.detached(soft)


def encode(ops: Ops, shape: StreamShape, parameters: Parameters, own: Array, near: Array, there: Array) -> Array:
    """(W, O, D): the graph isomorphism network over the subgraph, summed."""
    count = own.shape[1]
    scale = 1.0 / float(np.sqrt(3.0 + near.shape[-2]))
    for layer in range(shape.layers):
        keep = 1.0 + parameters[f"gin.{layer}.self"]
        zero = own[:, :1] * 0.0
        before = ops.concat([zero, own[:, :-1]], 1) if count > 1 else zero
        after = ops.concat([own[:, 1:], zero], 1) if count > 1 else zero
        next_own = perceptron(ops, parameters, layer, scale * (keep * own + ops.sum(near, -2) + before + after))
        near = perceptron(ops, parameters, layer, scale * (keep * near + own[..., None, :])) * there
        own = next_own
    return (ops.sum(own, 1) + ops.sum(ops.sum(near, -2), 1)) / count


def perceptron(ops: Ops, parameters: Parameters, layer: int, x: Array) -> Array:
    return ops.relu(linear(parameters, f"gin.{layer}.second", ops.relu(linear(parameters, f"gin.{layer}.first", x))))
