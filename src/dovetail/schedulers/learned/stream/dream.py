"""DREAM: a graph network over the present snapshot alone.  A declared approximation: no code was published.

What is kept of it is what sets it apart in the comparison of SURE: it knows the graph, not the history.

    h_0 = relu(W x),  h_(l+1) = relu(W0 h + W1 (mean over those that feed it) + W2 (mean over those it feeds))
"""

from __future__ import annotations

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, linear, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape


def shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    return {**convolution_shapes(shape), **head_shapes(shape, 2 * shape.width)}


def forward(ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph) -> Array:
    """(W, L, O, F) -> (W, O)."""
    first, last = convolved(ops, shape, parameters, features[:, -1], graph)
    return head(ops, parameters, ops.concat([first, last], -1))


def convolution_shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    found = linear_shapes("project", len(COLUMNS), shape.width)
    for layer in range(shape.layers):
        found |= linear_shapes(f"graph.{layer}", 3 * shape.width, shape.width)
    return found


def convolved(
    ops: Ops, shape: StreamShape, parameters: Parameters, snapshot: Array, graph: Graph
) -> tuple[Array, Array]:
    """(W, O, F) -> (W, O, D) before and after the graph network."""
    above, below = ops.constant(graph.above), ops.constant(graph.below)
    first = hidden = ops.relu(linear(parameters, "project", snapshot))
    for layer in range(shape.layers):
        around = ops.concat([hidden, above @ hidden, below @ hidden], -1)
        hidden = ops.relu(linear(parameters, f"graph.{layer}", around))
    return first, hidden
