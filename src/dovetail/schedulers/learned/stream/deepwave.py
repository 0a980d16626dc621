"""DeepWave: one action for a whole job, from its whole graph as it is now.

A declared approximation: no code was published.
What is kept of it is what sets it apart in the comparison of SURE: it scales jobs, not operators.  A graph network over
the present snapshot, the mean over the operators of a job, and one action that all of them take.
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
    """(W, L, O, F) -> (W, O), the same for all operators of a job."""
    first = dense(ops, parameters, "project", features[:, -1])
    last = convolved(ops, shape, parameters, first, graph)
    jobs = ops.constant(graph.member) @ ops.concat([first, last], -1)
    return head(ops, parameters, jobs)[:, graph.job]
