"""One forward pass for two worlds: the few operations networks are written in, for numpy and for torch.

Learned autoscalers decide with numpy, so that deciding needs no torch, and learn with torch.  Their forward pass is
written once, over `Ops`; a contract test holds the two together.  Arrays of both kinds share operators, indexing and
`.shape`; what differs is here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from dovetail.core.stream import Ints
from dovetail.schedulers.learned.stream.graph import Singles

Array = Any
"""A numpy array or a torch tensor of float32 (or of int64, where it is an index)."""

NOT_THERE = -1e9


class Slots(NamedTuple):
    """Where the neighbours that are taken go."""

    whose: Ints  # (S,) operator, in order
    place: Ints  # (S,) 0: its most important neighbour, ...


class Ops(Protocol):
    learns: bool  # whether gradients are wanted; what only they need is left out otherwise

    def relu(self, x: Array) -> Array: ...
    def dense(self, x: Array, weight: Array, bias: Array) -> Array: ...  # relu(x W + b) over the last axis
    def tanh(self, x: Array) -> Array: ...
    def sigmoid(self, x: Array) -> Array: ...
    def exp(self, x: Array) -> Array: ...
    def log(self, x: Array) -> Array: ...
    def clip(self, x: Array, low: float, high: float) -> Array: ...
    def softmax(self, x: Array, axis: int) -> Array: ...
    def mean(self, x: Array, axis: int) -> Array: ...
    def concat(self, parts: list[Array], axis: int) -> Array: ...
    def unstack(self, x: Array, axis: int) -> tuple[Array, ...]: ...
    def swap(self, x: Array, one: int, other: int) -> Array: ...
    def largest(self, x: Array, count: int, axis: int) -> Array: ...  # where they are, in order of position
    def order(self, x: Array) -> Array: ...  # along the last axis: where the largest is, the next, ...
    def rows(self, x: Array, index: Array) -> Array: ...  # x[index], of the first axis
    def joined(self, nodes: Array, keep: Array, whose: Ints) -> Array: ...  # these two: see `sure.encode`
    def pooled(self, nodes: Array, whose: Ints) -> Array: ...
    def gathered(  # see `gathered`
        self,
        projected: Array,
        chosen: Array,
        scores: Array,
        gumbel: Singles | None,
        near: Ints,
        there: Singles,
        slots: Slots,
    ) -> tuple[Array, Array]: ...
    def weighed(self, x: Array, share: Array) -> Array: ...  # (W, L, O, D) and (W, L, O): the sum over L of the product
    def take(self, x: Array, index: Array, axis: int) -> Array: ...  # of the same shape but along `axis`
    def constant(self, x: Any) -> Array: ...  # from numpy
    def detached(self, x: Array) -> Array: ...  # the same without its history
    def broadcast(self, x: Array, shape: tuple[int, ...]) -> Array: ...


class NumpyOps:
    """For deciding; `compiled` has faster ones."""

    learns = False

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def dense(self, x: Array, weight: Array, bias: Array) -> Array:
        return self.relu(product(x, weight, bias))

    def tanh(self, x: Array) -> Array:
        return np.tanh(x)

    def sigmoid(self, x: Array) -> Array:
        return 1 / (1 + np.exp(-np.clip(x, -30, 30)))

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def log(self, x: Array) -> Array:
        return np.log(x)

    def clip(self, x: Array, low: float, high: float) -> Array:
        return np.clip(x, low, high)

    def softmax(self, x: Array, axis: int) -> Array:
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)

    def mean(self, x: Array, axis: int) -> Array:
        return x.mean(axis=axis)

    def concat(self, parts: list[Array], axis: int) -> Array:
        return np.concatenate(parts, axis=axis)

    def unstack(self, x: Array, axis: int) -> tuple[Array, ...]:
        return tuple(np.moveaxis(x, axis, 0))

    def swap(self, x: Array, one: int, other: int) -> Array:
        return np.swapaxes(x, one, other)

    def largest(self, x: Array, count: int, axis: int) -> Array:
        length = x.shape[axis]
        if count == length:
            return np.broadcast_to(_along(np.arange(count), axis, x.ndim), x.shape)
        found = np.argpartition(x, length - count, axis=axis)
        return np.sort(np.take(found, range(length - count, length), axis=axis), axis=axis)

    def order(self, x: Array) -> Array:
        return np.argsort(-x, axis=-1, kind="stable")

    def rows(self, x: Array, index: Array) -> Array:
        return x.take(index, axis=0)

    def joined(self, nodes: Array, keep: Array, whose: Ints) -> Array:
        operators = len(nodes) - len(whose)
        found = keep * nodes
        own, near = found[:operators], found[operators:]
        own[:, :, 1:] += nodes[:operators, :, :-1]
        own[:, :, :-1] += nodes[:operators, :, 1:]
        np.add.at(own, whose, nodes[operators:])
        near += nodes[whose]
        return found

    def pooled(self, nodes: Array, whose: Ints) -> Array:
        operators = len(nodes) - len(whose)
        found = nodes[:operators].sum(axis=2)
        np.add.at(found, whose, nodes[operators:].sum(axis=2))
        return found / nodes.shape[2]

    def gathered(
        self,
        projected: Array,
        chosen: Array,
        scores: Array,
        gumbel: Singles | None,
        near: Ints,
        there: Singles,
        slots: Slots,
    ) -> tuple[Array, Array]:
        return gathered(self, projected, chosen, scores, gumbel, near, there, slots)

    def weighed(self, x: Array, share: Array) -> Array:
        return (x * share[..., None]).sum(axis=1)

    def take(self, x: Array, index: Array, axis: int) -> Array:
        return np.take_along_axis(x, index, axis)

    def constant(self, x: Any) -> Array:
        return np.asarray(x)

    def detached(self, x: Array) -> Array:
        return x

    def broadcast(self, x: Array, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, shape)


def gathered(
    ops: Ops,
    projected: Array,
    chosen: Array,
    scores: Array,
    gumbel: Singles | None,
    near: Ints,
    there: Singles,
    slots: Slots,
) -> tuple[Array, Array]:
    """The nodes of subgraphs: the chosen copies (W, k1, O) of operators among what is projected (W, L, O, D), and in
    each of them the neighbours with the highest scores (W, L, O), noise (W, k1, O, M) added, as many as have slots.

    Nodes (O + S, W, k1, D), and which of those that are near the neighbours are: (S, W, k1), up to M.
    """
    _, length, operators, width = projected.shape
    noisy = scores_near(ops, scores, chosen, near, there)
    if gumbel is not None:
        noisy = noisy + operators_first(ops, ops.constant(gumbel))
    whose, index = ops.constant(slots.whose), ops.constant(near)
    place = ops.order(noisy)[whose, :, :, ops.constant(slots.place)]
    start = first_rows(ops, chosen, length)
    own_at = start + ops.constant(np.arange(operators)[:, None, None])
    near_at = ops.rows(start, whose) + index[whose[:, None, None], place]
    at = ops.concat([own_at, near_at], 0)
    return ops.rows(projected.reshape(-1, width), at.reshape(-1)).reshape(*at.shape, width), place


def scores_near(ops: Ops, scores: Array, chosen: Array, near: Ints, there: Singles) -> Array:
    """(O, W, k1, M) of those near an operator in a chosen snapshot; very low where nobody is."""
    at = first_rows(ops, chosen, scores.shape[1])[..., None] + ops.constant(near)[:, None, None]
    return (
        ops.rows(scores.reshape(-1), at.reshape(-1)).reshape(at.shape)
        + ops.constant((1.0 - there) * NOT_THERE)[:, None, None]
    )


def first_rows(ops: Ops, chosen: Array, length: int) -> Array:
    """(O, W, k1): among all operators in all snapshots, where those of a chosen snapshot begin."""
    worlds, _, operators = chosen.shape
    return operators * (length * ops.constant(np.arange(worlds)[:, None]) + operators_first(ops, chosen))


def operators_first(ops: Ops, x: Array) -> Array:
    """(W, k1, O, ...) -> (O, W, k1, ...)."""
    return ops.swap(ops.swap(x, 1, 2), 0, 1)


def _along(x: Array, axis: int, dimensions: int) -> Array:
    shape = [1] * dimensions
    shape[axis] = len(x)
    return x.reshape(shape)


NUMPY = NumpyOps()
Parameters = dict[str, Array]


def linear(parameters: Parameters, name: str, x: Array) -> Array:
    """x W + b, over the last axis."""
    return product(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def product(x: Array, weight: Array, bias: Array) -> Array:
    """The same; as one product of two matrices, as numpy would make many small ones of it."""
    found = x.reshape(-1, x.shape[-1]) @ weight
    found += bias
    return found.reshape(*x.shape[:-1], weight.shape[-1])


def dense(ops: Ops, parameters: Parameters, name: str, x: Array) -> Array:
    """relu(x W + b)."""
    return ops.dense(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def linear_shapes(name: str, inside: int, outside: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (inside, outside), f"{name}.bias": (outside,)}


def fresh(shapes: dict[str, tuple[int, ...]], rng: np.random.Generator, zero: tuple[str, ...] = ()) -> Parameters:
    """Drawn so that activations keep their size; biases, and whatever starts with one of `zero`, are 0."""
    found: Parameters = {}
    for name, shape in shapes.items():
        if len(shape) < 2 or name.startswith(zero):
            found[name] = np.zeros(shape, np.float32)
        else:
            found[name] = (rng.normal(size=shape) * np.sqrt(1.5 / shape[-2])).astype(np.float32)
    return found
