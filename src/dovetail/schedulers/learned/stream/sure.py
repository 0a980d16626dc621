"""SURE (Xing, Mao, Xiao: Fast and fine-grained autoscaler for streaming jobs with reinforcement learning, IJCAI 2022).

The history of a job is a graph: its operators in every snapshot, joined by the flow of records within one and by time
between them.  It is unnecessary to look at all of it, so for each operator v a subgraph is sampled:

    h = relu(W x + b)                               all operators, all snapshots
    Omega = mu(h_v) + eps exp(log var(h_v) / 2)     over v's own snapshots: a logistic-normal distribution
                                                    mu is less for older snapshots by `time.age` times their age
    theta = softmax(Omega)                          how much each snapshot matters
    k1 snapshots by Gumbel top-k of theta           without replacement
    phi = softmax(...)                              how much each downstream neighbour matters there, likewise
    k2 of them in each                              a share of its own that are within some hops

The subgraph is the chosen copies of v, consecutive ones joined, each joined to its chosen neighbours.  A graph
isomorphism network (sum over neighbours, then a perceptron, some layers) and a sum over the subgraph encode it; a
residual feed-forward layer follows.  To that comes what v and its surroundings are like now, the mean of v's own
snapshots, and how their mean by what matters (theta with eps = 0) differs from it; the policy head makes an action of
it.

Gradients reach the weights by the straight-through estimator: what was chosen is multiplied by 1 + s - stop(s), s being
its probability to be chosen.  Where nothing is drawn, the largest weights are taken; deciding draws, too: what was
trained on samples loses a few percent more to hindsight when it is handed the largest weights only.

Departures.  The published code casts the selection to booleans, which cuts that gradient; scales the noise by the
variance; and lets the chosen snapshots alone speak of the present.  Ours always looks at the newest snapshot, with a
graph network of its own (`present=whole`; `own`: at v alone), as sampling is there to save looking at all the others.
Both means are ours, too (`past=trend`; `weighed`: the second alone; `sampled`: neither): rates of single minutes are
noise, a third of which is left in ten of them, and a mean of all costs next to nothing; its gradient teaches the
weights what matters.  While all snapshots matter alike the two are equal, and nothing asks for other weights; so they
begin with more for newer ones (`FIRST_AGE`).
phi is a score without noise of its own, not logistic-normal like theta; the cross-entropy of the objective is over time
alone.  The variance has a soft bound, and divergence and likelihood of the objective are in balance (2e-5 and 1e-5;
published 1e-7 and 1e-2, with which it goes to its bound and stays there); information counts 1e-2 instead of 1e-5.  In
jobs of 12 operators and more, what a subgraph is told apart from are other operators of the same moment.
`faults` brings two published ones back: the cut gradient, and the noise.
Sums over the subgraph are divided by k1, those over neighbours by the root of how many there may be, which changes
nothing but the scale.

`sampler`: `random` draws by noise alone, `none` takes everything (the full graph).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.stream import Ints
from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import (
    Array,
    Ops,
    Parameters,
    Slots,
    dense,
    linear,
    linear_shapes,
    operators_first,
    product,
    scores_near,
)
from dovetail.schedulers.learned.stream.convolution import convolution_shapes, convolved
from dovetail.schedulers.learned.stream.graph import Graph, Singles
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

MOST_LOG_VARIANCE = 4.0
TINY = 1e-20
MEANS = {"trend": 2, "weighed": 1, "sampled": 0}  # of all snapshots, that the head is handed
AGE, FIRST_AGE = "time.age", 3.0  # how much less a snapshot matters for being as old as the history is long
HEADS = ("time.mean", "time.log_variance", "near.other")


class Noise(NamedTuple):
    """What is drawn for a forward pass of W worlds; see `draw_noise`."""

    normal: Singles  # (W, L, O) the importance of snapshots
    gumbel: Singles  # (W, L, O) which of them
    gumbel_near: Singles  # (W, k1, O, M) which neighbours


class Sampled(NamedTuple):
    """What the objective of the sampler reads."""

    mean: Array  # (W, L, O) mu
    log_variance: Array  # (W, L, O)
    weights: Array  # (W, L, O) Omega; its softmax is theta
    chosen: Array  # (W, k1, O) snapshots
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
    for name in ("time.mean", "time.log_variance", "near.other"):
        found |= linear_shapes(name, width, 1)
    for layer in range(shape.layers):
        found |= linear_shapes(f"gin.{layer}.first", width, width) | linear_shapes(f"gin.{layer}.second", width, width)
        found[f"gin.{layer}.self"] = (1,)
    found |= linear_shapes("feed.first", width, width) | linear_shapes("feed.second", width, width)
    found |= convolution_shapes(shape) if shape.present == "whole" else {}
    found |= {AGE: (1,)} if shape.past == "trend" else {}
    return found | head_shapes(shape, (2 + (shape.present == "whole") + MEANS[shape.past]) * width)


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
    projected = dense(ops, parameters, "project", features)  # (W, L, O, D)
    mean, log_variance, near = heads(ops, parameters, projected)
    if shape.past == "trend":
        mean = mean - parameters[AGE] * features[..., COLUMNS.index("age of the snapshot")]
    log_variance = MOST_LOG_VARIANCE * ops.tanh(log_variance / MOST_LOG_VARIANCE)
    spread = ops.exp((1.0 if shape.faults else 0.5) * log_variance)
    weights = mean if noise is None else mean + ops.constant(noise.normal) * spread
    chosen = choose(
        ops, shape, weights, None if noise is None else noise.gumbel, snapshots_taken(shape, features.shape[1])
    )
    part = gather(ops, shape, projected, graph, weights, chosen, near, noise)
    encoded = encode(ops, shape, parameters, part)
    fed = linear(parameters, "feed.second", dense(ops, parameters, "feed.first", encoded))
    newest = projected[:, -1]
    more = [newest] if shape.present == "own" else [newest, convolved(ops, shape, parameters, newest, graph)]
    if shape.past != "sampled":
        more += history(ops, shape, projected, mean)
    said = head(ops, parameters, ops.concat([encoded + fed, *more], -1))
    return said, Sampled(mean, log_variance, weights, chosen, encoded)


def history(ops: Ops, shape: StreamShape, projected: Array, mean: Array) -> list[Array]:
    """What the head is handed of all of an operator's snapshots."""
    by_weight = weighed(ops, shape, projected, mean)
    if shape.past == "weighed":
        return [by_weight]
    plain = ops.mean(projected, 1)
    return [plain, by_weight - plain]


def weighed(ops: Ops, shape: StreamShape, projected: Array, mean: Array) -> Array:
    """(W, L, O, D) -> (W, O, D): the mean of each operator's own snapshots, by how much they matter."""
    if shape.sampler == "random":
        return ops.mean(projected, 1)
    return ops.weighed(projected, ops.softmax(mean, 1))


def heads(ops: Ops, parameters: Parameters, projected: Array) -> tuple[Array, Array, Array]:
    """Each (W, L, O): mu, log var, and how much an operator matters as a neighbour.  One product instead of three."""
    weight = ops.concat([parameters[f"{name}.weight"] for name in HEADS], 1)
    bias = ops.concat([parameters[f"{name}.bias"] for name in HEADS], 0)
    mean, log_variance, near = ops.unstack(product(projected, weight, bias), -1)
    return mean, log_variance, near


class Subgraph(NamedTuple):
    """Of every operator in every world.  It has as many neighbours in each of its copies, so S in all operators."""

    nodes: Array  # (O + S, W, k1, D) the chosen copies of operators, then of their chosen neighbours
    whose: Ints  # (S,) operator


def slots_of(wanted: Singles) -> Slots:
    whose, place = np.nonzero(np.arange(wanted.max(initial=0.0)) < wanted[:, None])
    return Slots(whose, place)


def choose(ops: Ops, shape: StreamShape, weights: Array, gumbel: Singles | None, count: int) -> Array:
    """(W, k1, O) snapshots, `count` draws without replacement; the largest where nothing is drawn.

    Weights are as before the softmax, which would change all of an operator's logarithms alike.  A random sampler draws
    by noise alone; where nothing is drawn, snapshots at equal distances.
    """
    if shape.sampler == "random":
        if gumbel is None:
            at = np.linspace(0, weights.shape[1] - 1, count).round().astype(np.int64)
            return ops.broadcast(ops.constant(at[None, :, None]), (weights.shape[0], count, *weights.shape[2:]))
        return ops.largest(ops.constant(gumbel), count, 1)
    logits = ops.detached(weights)
    return ops.largest(logits if gumbel is None else logits + ops.constant(gumbel), count, 1)


def gather(
    ops: Ops,
    shape: StreamShape,
    projected: Array,
    graph: Graph,
    weights: Array,
    chosen: Array,
    importance: Array,
    noise: Noise | None,
) -> Subgraph:
    """`importance`: (W, L, O) of an operator as a neighbour, the same whose neighbour it is.

    Neighbours are drawn as with `choose`.
    """
    wanted = neighbours_taken(shape, graph)
    slots = slots_of(wanted)
    scores = 0.0 * importance if shape.sampler == "random" else ops.detached(importance)
    gumbel = None if noise is None else noise.gumbel_near
    nodes, place = ops.gathered(projected, chosen, scores, gumbel, graph.near, graph.near_there, slots)
    if ops.learns and not shape.faults:
        theta = ops.take(ops.softmax(weights, 1), chosen, 1)
        own = gate(ops, chosen.shape[1] * operators_first(ops, theta))
        phi = ops.softmax(scores_near(ops, importance, chosen, graph.near, graph.near_there), -1)
        share = ops.take(ops.rows(phi, ops.constant(slots.whose)), place[..., None], 3)[..., 0]
        near = gate(ops, ops.constant(wanted[slots.whose])[:, None, None] * share)
        nodes = nodes * ops.concat([own, near], 0)[..., None]
    return Subgraph(nodes, slots.whose)


def gate(ops: Ops, chance: Array) -> Array:
    """1, with the gradient of the chance to be chosen (straight-through)."""
    soft = ops.clip(chance, 0.0, 1.0)
    return 1.0 + soft - ops.detached(soft)


def encode(ops: Ops, shape: StreamShape, parameters: Parameters, part: Subgraph) -> Array:
    """(W, O, D): the graph isomorphism network over the subgraph, summed.

    `joined` is keep * node + the sum of those joined to it: a copy of an operator to the ones before and after it and
    to its neighbours, a neighbour to whose it is.  `pooled` is the sum over all of an operator's nodes, over k1.
    """
    scale = 1.0 / float(np.sqrt(3.0 + shape.share * shape.neighbours))
    nodes = part.nodes  # both kinds go through the same layers
    for layer in range(shape.layers):
        joined = ops.joined(nodes, 1.0 + parameters[f"gin.{layer}.self"], part.whose)
        weight, bias = (parameters[f"gin.{layer}.first.{name}"] for name in ("weight", "bias"))
        nodes = dense(ops, parameters, f"gin.{layer}.second", ops.dense(joined, scale * weight, bias))
    return ops.swap(ops.pooled(nodes, part.whose), 0, 1)
