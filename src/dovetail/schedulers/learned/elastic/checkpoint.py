"""A trained price network on disk; the card is like that of every network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.errors import CheckpointError
from dovetail.features import elastic as features
from dovetail.schedulers.learned.checkpoint_files import (
    both_paths,
    check_columns,
    check_parameters,
    read_files,
    write_files,
)
from dovetail.schedulers.learned.elastic.network import PriceNetwork, shapes

KIND = "elastic-prices"
MOST_HIDDEN = 4096


@dataclass(frozen=True)
class PriceCheckpoint:
    network: PriceNetwork
    card: dict[str, Any]  # everything but what the network is


def save_checkpoint(path: Path, checkpoint: PriceCheckpoint) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    network = checkpoint.network
    facts = {"features": features.NAME, "feature_columns": list(features.COLUMNS), "hidden": network.hidden}
    arrays = {name: np.asarray(part, dtype=np.float32) for name, part in network._asdict().items()}
    check_parameters(both_paths(path)[0], shapes(network.hidden), arrays)
    return write_files(path, KIND, {**facts, **checkpoint.card}, arrays)


def load_checkpoint(path: Path) -> PriceCheckpoint:
    """Read a checkpoint by either of its files, or by the name they share."""
    weights, card = both_paths(path)
    document, arrays = read_files(path, KIND)
    check_columns(card, features.NAME, document.get("feature_columns"), list(features.COLUMNS))
    hidden = document.get("hidden")
    if not (isinstance(hidden, int) and 1 <= hidden <= MOST_HIDDEN):
        raise CheckpointError(f"{card}: hidden is {hidden!r}; expected a whole number from 1 to {MOST_HIDDEN}")
    check_parameters(weights, shapes(hidden), arrays)
    network = PriceNetwork(**{name: arrays[name].astype(np.float64) for name in PriceNetwork._fields})
    known = ("format", "kind", "features", "feature_columns", "hidden")
    return PriceCheckpoint(network, {key: value for key, value in document.items() if key not in known})
