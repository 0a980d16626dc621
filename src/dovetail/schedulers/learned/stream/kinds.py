"""The kinds of networks by name: their parameters and their forward pass, alike for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.errors import UnknownName
from dovetail.schedulers.learned.stream import astgcn, ccrnn, deepwave, dream, sure, tvw_rl
from dovetail.schedulers.learned.stream.arrays import Array, Ops, Parameters, fresh
from dovetail.schedulers.learned.stream.graph import Graph
from dovetail.schedulers.learned.stream.head import LAST
from dovetail.schedulers.learned.stream.shape import StreamShape

KINDS = {"sure": sure, "deepwave": deepwave, "dream": dream, "tvw-rl": tvw_rl, "astgcn": astgcn, "ccrnn": ccrnn}
FIRST_LOG_STD = -2.0


class Output(NamedTuple):
    mean: Array  # (W, O) of actions
    sampled: sure.Sampled | None = None  # SURE's
    forecast: Array | None = None  # (W, O) change of the logarithm of demand until the next decision


def parameter_shapes(kind: str, shape: StreamShape) -> dict[str, tuple[int, ...]]:
    if kind not in KINDS:
        raise UnknownName("kind of network", kind, KINDS)
    found: dict[str, tuple[int, ...]] = KINDS[kind].shapes(shape)
    return found


def fresh_parameters(kind: str, shape: StreamShape, rng: np.random.Generator) -> Parameters:
    """Untrained: all actions are 0."""
    found = fresh(parameter_shapes(kind, shape), rng, zero=(LAST, "forecast"))
    found["head.log_std"][:] = FIRST_LOG_STD
    if sure.AGE in found:
        found[sure.AGE][:] = sure.FIRST_AGE
    return found


def draw(
    kind: str, rng: np.random.Generator, shape: StreamShape, worlds: int, history: int, graph: Graph
) -> sure.Noise | None:
    """What a forward pass draws, for those that draw."""
    return sure.draw_noise(rng, shape, worlds, history, graph) if kind == "sure" else None


def forward(
    ops: Ops,
    kind: str,
    shape: StreamShape,
    parameters: Parameters,
    features: Array,
    graph: Graph,
    noise: sure.Noise | None = None,
) -> Output:
    """(W, L, O, F) -> what the network says."""
    if kind == "sure":
        return Output(*sure.forward(ops, shape, parameters, features, graph, noise))
    if kind in ("astgcn", "ccrnn"):
        mean, forecast = KINDS[kind].forward(ops, shape, parameters, features, graph)
        return Output(mean, forecast=forecast)
    return Output(KINDS[kind].forward(ops, shape, parameters, features, graph))
