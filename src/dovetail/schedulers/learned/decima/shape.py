"""What a Decima network looks like: its options, its small nets, and where their weights are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Ints
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.features import feature_set

LEAK = 0.2  # slope of the leaky rectifier below 0
LIMIT_FEATURES = 5  # of a limit: itself, what it gives, their logarithms, and the share of what could be given
CLASS_FEATURES = 4  # of an executor class: CPU, memory, how many are on offer, memory a task would leave unused; of
# "any class": 0, 0, how many are on offer that fit, 0
COUNT_SCALE = 1.0 / 20.0  # of executors, where they are an input
LOG_SCALE = 1.0 / 3.0  # of their logarithms
NETS = ("prepare", "message", "gather", "job_in", "job_out", "all_in", "all_out", "stage", "limit", "class")


@dataclass(frozen=True)
class DecimaShape:
    """The options.  `SHAPES` has the ones with a name.

    hidden: layers of the six nets that embed; head: layers of those that score.  limit_sees_stage: limit and class
    are scored from the chosen stage as well, not from its job alone.  limit_columns: how many of the features of a
    limit are shown; the first is the limit itself.  graph=False leaves out every message between stages, and with it
    the embedding of jobs and of the whole system.  limits=False gives a stage all it can use.
    """

    features: str = "informed-3"
    embedding: int = 16
    hidden: tuple[int, ...] = (32, 16)
    head: tuple[int, ...] = (32, 16)
    limit_sees_stage: bool = True
    graph: bool = True
    limits: bool = True
    limit_columns: int = LIMIT_FEATURES

    def __post_init__(self) -> None:
        feature_set(self.features)
        if not 1 <= self.limit_columns <= LIMIT_FEATURES:
            raise ConfigError(f"shape {self}: expected 1 to {LIMIT_FEATURES} limit_columns")
        sizes = (self.embedding, *self.hidden, *self.head)
        if not self.hidden or not self.head or min(sizes) < 1 or max(sizes) > 512:
            raise ConfigError(f"shape {self}: expected at least one layer in each, of 1 to 512 units")

    @property
    def num_features(self) -> int:
        return len(feature_set(self.features))

    @cached_property
    def nets(self) -> dict[str, tuple[int, ...]]:
        """Units of each layer of each net, from input to output."""
        features, embedding = self.num_features, self.embedding
        whole = features + 3 * embedding  # a stage, its embedding, its job's, the system's
        chosen = whole if self.limit_sees_stage else 2 * embedding
        return {
            "prepare": (features, *self.hidden, embedding),
            "message": (embedding, *self.hidden, embedding),
            "gather": (embedding, *self.hidden, embedding),
            "job_in": (features + embedding, *self.hidden, embedding),
            "job_out": (embedding, *self.hidden, embedding),
            "all_in": (embedding, *self.hidden, embedding),
            "all_out": (embedding, *self.hidden, embedding),
            "stage": (whole, *self.head, 1),
            "limit": (chosen + self.limit_columns, *self.head, 1),
            "class": (chosen + CLASS_FEATURES, *self.head, 1),
        }

    def parameters(self) -> list[Parameter]:
        """Every weight matrix and bias, in the order in which they are packed."""
        found = []
        for net, units in self.nets.items():
            for layer, (width_in, width_out) in enumerate(pairwise(units)):
                found.append(Parameter(f"{net}.{layer}.weight", (width_out, width_in)))
                found.append(Parameter(f"{net}.{layer}.bias", (width_out,)))
        return found

    @property
    def num_parameters(self) -> int:
        return sum(int(np.prod(one.shape)) for one in self.parameters())

    def layer_table(self) -> tuple[Ints, Ints]:
        """(layers, 3) place of its packed weights, inputs, outputs; (nets + 1,) first layer of each net."""
        rows, first, place = [], [0], 0
        for units in self.nets.values():
            for width_in, width_out in pairwise(units):
                rows.append((place, width_in, width_out))
                place += width_in * width_out + width_out
            first.append(len(rows))
        return np.array(rows, dtype=np.int64), np.array(first, dtype=np.int64)


class Parameter(NamedTuple):
    name: str
    shape: tuple[int, ...]


SHAPES = {
    "informed": DecimaShape(),
    "classes": DecimaShape("classes-1"),
    "paper": DecimaShape("decima-1", 8, (32, 16), (32, 16), limit_sees_stage=False, limit_columns=1),
    "no-graph": DecimaShape(graph=False),
    "no-limits": DecimaShape(limits=False),
}
"""informed: ours.  classes: ours where executors differ.  paper: the published features, widths and inputs (with our
executor-class net; the published one has some 12,700 parameters in all, and does not say where).  The others leave out
a part, to see what it is worth."""


def named_shape(name: str) -> DecimaShape:
    if name not in SHAPES:
        raise UnknownName("shape", name, SHAPES)
    return SHAPES[name]
