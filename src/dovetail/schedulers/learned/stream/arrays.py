"""One forward pass for two worlds: the few operations networks are written in, for numpy and for torch.

Learned autoscalers decide with numpy, so that deciding needs no torch, and learn with torch.  Their forward pass is
written once, over `Ops`; a contract test holds the two together.  Arrays of both kinds share operators, indexing and
`.shape`; what differs is here.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = Any
"""A numpy array or a torch tensor of float32 (or of int64, where it is an index)."""


class Ops(Protocol):
    def relu(self, x: Array) -> Array: ...
    def tanh(self, x: Array) -> Array: ...
    def sigmoid(self, x: Array) -> Array: ...
    def exp(self, x: Array) -> Array: ...
    def log(self, x: Array) -> Array: ...
    def clip(self, x: Array, low: float, high: float) -> Array: ...
    def softmax(self, x: Array, axis: int) -> Array: ...
    def sum(self, x: Array, axis: int) -> Array: ...
    def mean(self, x: Array, axis: int) -> Array: ...
    def concat(self, parts: list[Array], axis: int) -> Array: ...
    def stack(self, parts: list[Array], axis: int) -> Array: ...
    def swap(self, x: Array, one: int, other: int) -> Array: ...
    def largest(self, x: Array, count: int, axis: int) -> Array: ...  # where they are, in order of position
    def rank(self, x: Array) -> Array: ...  # along the last axis: 0 for the largest
    def where(self, x: Array) -> tuple[Array, ...]: ...  # it is true: an index for each axis
    def sum_by(self, x: Array, group: Array, count: int) -> Array: ...  # of rows; groups are non-decreasing
    def take(self, x: Array, index: Array, axis: int) -> Array: ...  # of the same shape but along `axis`
    def constant(self, x: Any) -> Array: ...  # from numpy
    def detached(self, x: Array) -> Array: ...  # the same without its history
    def broadcast(self, x: Array, shape: tuple[int, ...]) -> Array: ...


class NumpyOps:
    """For deciding."""

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

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

    def sum(self, x: Array, axis: int) -> Array:
        return x.sum(axis=axis)

    def mean(self, x: Array, axis: int) -> Array:
        return x.mean(axis=axis)

    def concat(self, parts: list[Array], axis: int) -> Array:
        return np.concatenate(parts, axis=axis)

    def stack(self, parts: list[Array], axis: int) -> Array:
        return np.stack(parts, axis=axis)

    def swap(self, x: Array, one: int, other: int) -> Array:
        return np.swapaxes(x, one, other)

    def largest(self, x: Array, count: int, axis: int) -> Array:
        if count == x.shape[axis]:
            chosen = np.broadcast_to(_along(np.arange(count), axis, x.ndim), x.shape)
        else:
            chosen = np.sort(np.take(np.argpartition(-x, count - 1, axis=axis), range(count), axis=axis), axis=axis)
        return chosen

    def rank(self, x: Array) -> Array:
        return np.argsort(np.argsort(-x, axis=-1, kind="stable"), axis=-1, kind="stable")

    def where(self, x: Array) -> tuple[Array, ...]:
        return np.nonzero(x)

    def sum_by(self, x: Array, group: Array, count: int) -> Array:
        ends = np.searchsorted(group, np.arange(count + 1))
        found = np.zeros((count, x.shape[-1]), x.dtype)
        for place in range(int(np.diff(ends).max(initial=0))):  # the first row of each group, the second, ...
            at = ends[:-1] + place
            there = np.flatnonzero(at < ends[1:])
            found[there] += x[at[there]]
        return found

    def take(self, x: Array, index: Array, axis: int) -> Array:
        return np.take_along_axis(x, index, axis)

    def constant(self, x: Any) -> Array:
        return np.asarray(x)

    def detached(self, x: Array) -> Array:
        return x

    def broadcast(self, x: Array, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, shape)


def _along(x: Array, axis: int, dimensions: int) -> Array:
    shape = [1] * dimensions
    shape[axis] = len(x)
    return x.reshape(shape)


NUMPY = NumpyOps()
Parameters = dict[str, Array]


def linear(parameters: Parameters, name: str, x: Array) -> Array:
    """x W + b, over the last axis."""
    return x @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


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
