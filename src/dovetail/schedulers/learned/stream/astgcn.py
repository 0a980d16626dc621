"""ASTGCN (Guo et al., AAAI 2019), a forecaster of traffic, as an autoscaler over the full graph of the history.

Blocks of attention and convolution over all operators in all snapshots:

    over time:   h <- softmax((m Q)(m K)^T / sqrt(D)) h,   m = mean of h over operators
    over space:  S  = softmax((n Q)(n K)^T / sqrt(D)),      n = mean of h over snapshots
    graph:       g  = relu(W0 h + W1 (above * S) h + W2 (below * S) h)       * is element by element
    time:        h <- relu(h + V_-1 g_(t-1) + V_0 g_t + V_1 g_(t+1))

The last snapshot and the mean over all of them go to the policy head, and to a second one that forecasts how the demand
of an operator changes until the next decision; in training its error is added to the loss.

Departure: the published one takes three histories (recent, daily, weekly) and has Chebyshev polynomials of the graph;
here one history is given, and the flow in both directions stands for the first polynomial.
"""

from __future__ import annotations

import numpy as np

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, dense, linear, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

BLOCKS = 2


def shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    width = shape.width
    found = linear_shapes("project", len(COLUMNS), width)
    for block in range(BLOCKS):
        for name in ("time.query", "time.key", "space.query", "space.key"):
            found[f"{block}.{name}"] = (width, width)
        found |= linear_shapes(f"{block}.graph", 3 * width, width) | linear_shapes(f"{block}.time", 3 * width, width)
    return found | linear_shapes("forecast", 2 * width, 1) | head_shapes(shape, 2 * width)


def forward(ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph) -> tuple[Array, Array]:
    """(W, L, O, F) -> (W, O) actions, and (W, O) forecasts."""
    above, below = ops.constant(graph.above), ops.constant(graph.below)
    hidden = dense(ops, parameters, "project", features)
    for block in range(BLOCKS):
        in_time = attention(ops, parameters, f"{block}.time", ops.mean(hidden, 2))
        worlds, length, operators, width = hidden.shape
        hidden = (in_time @ hidden.reshape(worlds, length, operators * width)).reshape(hidden.shape)
        in_space = attention(ops, parameters, f"{block}.space", ops.mean(hidden, 1))[:, None]
        around = ops.concat([hidden, (above * in_space) @ hidden, (below * in_space) @ hidden], -1)
        convolved = dense(ops, parameters, f"{block}.graph", around)
        hidden = ops.relu(hidden + linear(parameters, f"{block}.time", with_neighbours_in_time(ops, convolved)))
    together = ops.concat([hidden[:, -1], ops.mean(hidden, 1)], -1)
    return head(ops, parameters, together), linear(parameters, "forecast", together)[..., 0]


def attention(ops: Ops, parameters: Parameters, name: str, x: Array) -> Array:
    """(W, N, D) -> (W, N, N), rows sum to 1."""
    query, key = x @ parameters[f"{name}.query"], x @ parameters[f"{name}.key"]
    return ops.softmax(query @ ops.swap(key, -1, -2) / float(np.sqrt(x.shape[-1])), -1)


def with_neighbours_in_time(ops: Ops, x: Array) -> Array:
    """(W, L, O, D) -> (W, L, O, 3 D)."""
    zero = x[:, :1] * 0.0
    return ops.concat([ops.concat([zero, x[:, :-1]], 1), x, ops.concat([x[:, 1:], zero], 1)], -1)
