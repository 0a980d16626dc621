"""A trained DAS network on disk; the card is like that of every network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.config import build
from dovetail.core.errors import CheckpointError, ConfigError
from dovetail.features import gpu as features
from dovetail.schedulers.learned.checkpoint_files import (
    both_paths,
    check_columns,
    check_parameters,
    read_files,
    write_files,
)
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS, DasShape

KIND = "das"
SEEN = [*NODE_COLUMNS, *features.START_COLUMNS]  # by both agents


@dataclass(frozen=True)
class DasCheckpoint:
    network: DasForward
    card: dict[str, Any]  # everything but what the network is


def save_checkpoint(path: Path, checkpoint: DasCheckpoint) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    network = checkpoint.network
    facts = {"features": features.FEATURES, "feature_columns": SEEN, "shape": asdict(network.shape)}
    arrays = {name: np.asarray(part, dtype=np.float32) for name, part in network.parameters.items()}
    check_parameters(both_paths(path)[0], network.shape.sizes(), arrays)
    return write_files(path, KIND, {**facts, **checkpoint.card}, arrays)


def load_checkpoint(path: Path) -> DasCheckpoint:
    """Read a checkpoint by either of its files, or by the name they share."""
    weights, card = both_paths(path)
    document, arrays = read_files(path, KIND)
    check_columns(card, features.FEATURES, document.get("feature_columns"), SEEN)
    shape_on_card = document.get("shape")
    try:
        shape = build(DasShape, shape_on_card if isinstance(shape_on_card, dict) else {}, "shape")
    except ConfigError as error:
        raise CheckpointError(f"{card}: {error}") from error
    check_parameters(weights, shape.sizes(), arrays)
    network = DasForward(shape, {name: part.astype(np.float64) for name, part in arrays.items()})
    known = ("format", "kind", "features", "feature_columns", "shape")
    return DasCheckpoint(network, {key: value for key, value in document.items() if key not in known})
