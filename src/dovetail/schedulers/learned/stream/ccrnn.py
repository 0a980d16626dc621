"""CCRNN (Ye et al., AAAI 2021), a forecaster of traffic demand, as an autoscaler over the full graph of the history.

A recurrent network whose gates are graph convolutions, layer by layer with graphs of their own that are coupled:

    A_0     = softmax((s U_0)(s V_0)^T / sqrt(D))            s = mean of an operator's projected history
    A_(l+1) = softmax(c_l A_l + (s U_(l+1))(s V_(l+1))^T / sqrt(D))
    G(x)    = sum over l of a_l x_l,   x_0 = x,  x_(l+1) = relu(A_l x_l W_l) + flow of records in both directions
    gated recurrent unit with G([x_t, h]) in place of the product with a matrix, over all snapshots

The last state goes to the policy head, and to a second one that forecasts how the demand of an operator changes until
the next decision; in training its error is added to the loss.

Departure: the published graphs come from embeddings of fixed stations; jobs differ, so here they come from what is seen
of the operators.
"""

from __future__ import annotations

import numpy as np

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, dense, linear, linear_shapes
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.head import head, head_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

LAYERS = 2


def shapes(shape: StreamShape) -> dict[str, tuple[int, ...]]:
    width = shape.width
    found = linear_shapes("project", len(COLUMNS), width)
    for layer in range(LAYERS):
        found[f"adjacency.{layer}.from"] = found[f"adjacency.{layer}.to"] = (width, width)
        found[f"adjacency.{layer}.coupling"] = (1,)
        found |= linear_shapes(f"graph.{layer}", 6 * width, 2 * width)
    for name in ("reset", "update", "candidate"):
        found |= linear_shapes(name, 2 * width, width)
    found["mix"] = (LAYERS + 1,)
    return found | linear_shapes("forecast", 2 * width, 1) | head_shapes(shape, 2 * width)


def forward(ops: Ops, shape: StreamShape, parameters: Parameters, features: Array, graph: Graph) -> tuple[Array, Array]:
    """(W, L, O, F) -> (W, O) actions, and (W, O) forecasts."""
    projected = dense(ops, parameters, "project", features)
    graphs = coupled(ops, parameters, ops.mean(projected, 1))
    flows = [(each, ops.constant(graph.above), ops.constant(graph.below)) for each in graphs]
    mix = ops.softmax(parameters["mix"], -1)
    snapshots = ops.unstack(projected, 1)
    state = snapshots[0] * 0.0
    for seen in snapshots:
        spread = layered(ops, parameters, ops.concat([seen, state], -1), flows, mix)
        keep = ops.sigmoid(linear(parameters, "update", spread))
        forget = ops.sigmoid(linear(parameters, "reset", spread))
        again = layered(ops, parameters, ops.concat([seen, forget * state], -1), flows, mix)
        state = keep * state + (1.0 - keep) * ops.tanh(linear(parameters, "candidate", again))
    together = ops.concat([state, snapshots[-1]], -1)
    return head(ops, parameters, together), linear(parameters, "forecast", together)[..., 0]


def coupled(ops: Ops, parameters: Parameters, signature: Array) -> list[Array]:
    """(W, O, D) -> a graph (W, O, O) for each layer, each made from the one before."""
    found: list[Array] = []
    for layer in range(LAYERS):
        name = f"adjacency.{layer}"
        one, other = signature @ parameters[f"{name}.from"], signature @ parameters[f"{name}.to"]
        scores = one @ ops.swap(other, -1, -2) / float(np.sqrt(signature.shape[-1]))
        if found:
            scores = scores + parameters[f"{name}.coupling"] * found[-1]
        found.append(ops.softmax(scores, -1))
    return found


def layered(ops: Ops, parameters: Parameters, x: Array, flows: list[tuple[Array, Array, Array]], mix: Array) -> Array:
    """(W, O, 2 D) -> the same, mixed from all layers."""
    mixed = mix[0] * x
    for layer, (learned, above, below) in enumerate(flows):
        around = ops.concat([learned @ x, above @ x, below @ x], -1)
        x = dense(ops, parameters, f"graph.{layer}", around)
        mixed = mixed + mix[layer + 1] * x
    return mixed
