"""TVW-RL: windows of several lengths over the history, no graph.  A declared approximation: no code was published.

What is kept of it is what sets it apart in the comparison of SURE: it knows the history, not the graph.  The means of
an operator's features over the last 1, 5, 15 and 60 snapshots, and a perceptron.
"""

from __future__ import annotations

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, dense, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

WINDOWS = (1, 5, 15, 60)


def shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    inside = len(WINDOWS) * len(COLUMNS)
    return {**linear_shapes("project", inside, 2 * shape.width), **head_shapes(shape, 2 * shape.width)}


def forward(ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph) -> Array:
    """(W, L, O, F) -> (W, O)."""
    means = [ops.mean(features[:, -window:], 1) for window in WINDOWS]
    return head(ops, parameters, dense(ops, parameters, "project", ops.concat(means, -1)))
