"""A trained network of a learned autoscaler on disk; the card is like that of every network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.config import build
from dovetail.core.errors import CheckpointError, ConfigError
from dovetail.features import stream as features
from dovetail.schedulers.learned import checkpoint_files
from dovetail.schedulers.learned.checkpoint_files import (
    both_paths,
    check_columns,
    check_parameters,
    read_card,
    read_files,
    write_files,
)
from dovetail.schedulers.learned.stream.arrays import Parameters
from dovetail.schedulers.learned.stream.kinds import KINDS, parameter_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

FAMILY = "stream-"
"""Cards of these networks say `stream-` and the kind of network."""
BUNDLED = Path(__file__).parent / "checkpoints"


@dataclass(frozen=True)
class StreamCheckpoint:
    network: str  # its kind, such as sure
    shape: StreamShape
    parameters: Parameters
    card: dict[str, Any]  # everything but what the network is


def find_checkpoint(name: str) -> Path:
    """A bundled checkpoint by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


def save_checkpoint(path: Path, checkpoint: StreamCheckpoint) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    facts = {
        "features": features.NAME,
        "feature_columns": list(features.COLUMNS),
        "shape": asdict(checkpoint.shape),
    }
    arrays = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in checkpoint.parameters.items()}
    check_parameters(both_paths(path)[0], parameter_shapes(checkpoint.network, checkpoint.shape), arrays)
    return write_files(path, FAMILY + checkpoint.network, {**facts, **checkpoint.card}, arrays)


def load_checkpoint(path: Path, network: str | None = None) -> StreamCheckpoint:
    """Read a checkpoint by either of its files, or by the name they share; `network`: the kind it has to be of."""
    weights, card = both_paths(path)
    kind = str(read_card(path)[1].get("kind")).removeprefix(FAMILY)
    if kind not in KINDS:
        raise CheckpointError(f"{card}: kind is {kind!r}; expected one of {', '.join(FAMILY + one for one in KINDS)}")
    if network is not None and kind != network:
        raise CheckpointError(f"{card}: a network of kind {kind}; stream/{network} takes its own only")
    document, arrays = read_files(path, FAMILY + kind)
    check_columns(card, features.NAME, document.get("feature_columns"), list(features.COLUMNS))
    facts = document.get("shape")
    if not isinstance(facts, dict):
        raise CheckpointError(f"{card}: shape is {facts!r}; not a card that `dovetail train` wrote")
    try:
        shape = build(StreamShape, facts, f"{card}: shape")
    except ConfigError as error:
        raise CheckpointError(str(error)) from error
    check_parameters(weights, parameter_shapes(kind, shape), arrays)
    known = ("format", "kind", "features", "feature_columns", "shape")
    return StreamCheckpoint(kind, shape, arrays, {key: value for key, value in document.items() if key not in known})
