"""A graph network over one snapshot.

h <- relu(W0 h + W1 (mean over those that feed it) + W2 (mean over those it feeds))
"""

from __future__ import annotations

from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, dense, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.shape import StreamShape


def convolution_shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for layer in range(shape.layers):
        found |= linear_shapes(f"graph.{layer}", 3 * shape.width, shape.width)
    return found


def convolved(ops: Ops, shape: StreamShape, parameters: Parameters, hidden: Array, graph: Graph) -> Array:
    """(W, O, D) -> (W, O, D)."""
    above, below = ops.constant(graph.above), ops.constant(graph.below)
    for layer in range(shape.layers):
        around = ops.concat([hidden, above @ hidden, below @ hidden], -1)
        hidden = dense(ops, parameters, f"graph.{layer}", around)
    return hidden
