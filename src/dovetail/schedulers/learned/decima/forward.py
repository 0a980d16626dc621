"""The network computed without torch, for one decision or for many.

`network.DecimaNetwork` is the same in torch; a contract test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Floats, Ints
from dovetail.features.dag import Features
from dovetail.schedulers.learned.decima.inputs import DecimaInput
from dovetail.schedulers.learned.decima.shape import DecimaShape


class PackedNetwork(NamedTuple):
    """A network ready to be computed."""

    weights: Features  # (P,)
    layers: Ints  # (layers, 3)
    first: Ints  # (nets + 1,)
    embedding: int
    graph: bool
    limit_sees_stage: bool
    limits: bool
    limit_columns: int


class Choices(NamedTuple):
    """What was chosen in each world; -1 and 0 where there was nothing to choose."""

    node: Ints  # (B,) node row
    executor_class: Ints  # (B,) -1: any
    limit: Ints  # (B,)
    log_probability: Floats  # (B,) of the three together


def pack(shape: DecimaShape, parameters: Mapping[str, NDArray[np.float32]]) -> PackedNetwork:
    """One vector out of the named parameters of a network of that shape."""
    parts = []
    for one in shape.parameters():
        value = np.asarray(parameters[one.name], dtype=np.float32)
        assert value.shape == one.shape, (one, value.shape)
        parts.append(value.ravel())
    layers, first = shape.layer_table()
    options = (shape.graph, shape.limit_sees_stage, shape.limits, shape.limit_columns)
    return PackedNetwork(np.concatenate(parts), layers, first, shape.embedding, *options)


def choose(network: PackedNetwork, given: DecimaInput, luck: Floats | None = None) -> Choices:
    """One decision for each world: the likeliest, or drawn with `luck` (B, 3), uniform numbers from 0 to 1."""
    worlds = given.num_worlds
    drawn = np.full((worlds, 3), -1.0) if luck is None else luck
    out = np.full((worlds, 3), -1, dtype=np.int64)
    log_probability = np.zeros(worlds)
    compiled, rows = _compiled()
    compiled(
        network,
        rows(*(getattr(given, name) for name in rows._fields)),
        given.node_ptr,
        given.job_ptr,
        given.edge_ptr,
        given.offered,
        given.classes,
        drawn,
        out,
        log_probability,
    )
    return Choices(out[:, 0], out[:, 1], out[:, 2], log_probability)


@cache
def _compiled() -> tuple[Any, Any]:
    """The compiled part, loaded with the first decision: describing a scheduler must not load numba."""
    from dovetail.schedulers.learned.decima.compiled import choose_all
    from dovetail.schedulers.learned.decima.gather import Rows

    return choose_all, Rows
