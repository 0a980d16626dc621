"""A trained decima network on disk.

The card says what the network is (shape, features), what it was trained for and how (workload, cluster, objective,
seeds, command, commit, curve), and what it reached on held-out sequences.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.config import build
from dovetail.core.errors import CheckpointError, ConfigError, UnknownName
from dovetail.features import feature_set
from dovetail.schedulers.learned.checkpoint_files import (
    both_paths,
    check_columns,
    check_parameters,
    read_files,
    write_files,
)
from dovetail.schedulers.learned.decima.shape import DecimaShape

KIND = "decima"


@dataclass(frozen=True)
class Checkpoint:
    shape: DecimaShape
    parameters: dict[str, NDArray[np.float32]]
    card: dict[str, Any]  # everything but the shape


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    _check(both_paths(path)[0], checkpoint.shape, checkpoint.parameters)
    facts = {"shape": asdict(checkpoint.shape), "feature_columns": _columns(checkpoint.shape)}
    return write_files(path, KIND, {**facts, **checkpoint.card}, checkpoint.parameters)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint by either of its files, or by the name they share."""
    weights, card = both_paths(path)
    document, parameters = read_files(path, KIND)
    shape = _shape(card, document)
    _check(weights, shape, parameters)
    rest = {key: value for key, value in document.items() if key not in ("format", "kind", "shape", "feature_columns")}
    return Checkpoint(shape, parameters, rest)


def _shape(card: Path, document: dict[str, Any]) -> DecimaShape:
    try:
        shape = build(DecimaShape, document["shape"], "shape")
    except UnknownName as error:
        raise CheckpointError(f"{card}: made for features that this version does not have: {error}") from error
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise CheckpointError(f"{card}: its shape is not that of a {KIND} network ({error})") from error
    check_columns(card, shape.features, document.get("feature_columns"), _columns(shape))
    return shape


def _columns(shape: DecimaShape) -> list[str]:
    return [column.name for column in feature_set(shape.features).columns]


def _check(weights: Path, shape: DecimaShape, parameters: dict[str, NDArray[Any]]) -> None:
    check_parameters(weights, {one.name: one.shape for one in shape.parameters()}, parameters)
