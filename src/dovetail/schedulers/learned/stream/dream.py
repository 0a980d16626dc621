"""DREAM: a graph network over the present snapshot alone.  A declared approximation: no code was published.

What is kept of it is what sets it apart in the comparison of SURE: it knows the graph, not the history.
h_0 = relu(W x), then `convolution`.
"""

from __future__ import annotations

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, dense, linear_shapes
from dovetail.schedulers.learned.stream.convolution import convolution_shapes, convolved
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape


def shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    project = linear_shapes("project", len(COLUMNS), shape.width)
    return {**project, **convolution_shapes(shape), **head_shapes(shape, 2 * shape.width)}


def forward(ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph) -> Array:
    """(W, L, O, F) -> (W, O)."""
    first = dense(ops, parameters, "project", features[:, -1])
    last = convolved(ops, shape, parameters, first, graph)
    return head(ops, parameters, ops.concat([first, last], -1))
