"""The policy head that all learned autoscalers share: an embedding of each operator -> the mean of its action."""

from __future__ import annotations

from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, dense, linear, linear_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

LAST = "head.out"


def head_shapes(shape: StreamShape, inside: int) -> dict[str, tuple[int, ...]]:
    half = max(shape.hidden // 2, 1)
    return {
        **linear_shapes("head.first", inside, shape.hidden),
        **linear_shapes("head.second", shape.hidden, half),
        **linear_shapes(LAST, half, 1),
        "head.log_std": (1,),
    }


def head(ops: Ops, parameters: Parameters, embedded: Array) -> Array:
    """(..., D) -> (...,): actions in -1 .. 1.  With the last layer zero, as it is drawn, they are 0."""
    hidden = dense(ops, parameters, "head.first", embedded)
    hidden = dense(ops, parameters, "head.second", hidden)
    return ops.tanh(linear(parameters, LAST, hidden)[..., 0])
