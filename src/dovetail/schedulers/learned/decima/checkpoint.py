"""A trained network on disk: `NAME.safetensors` with its parameters, `NAME.json` with its card.

The card says what the network is (shape, features), what it was trained for and how (workload, cluster, objective,
seeds, command, commit, curve), and what it reached on held-out sequences.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from dovetail.core.config import build
from dovetail.core.errors import CheckpointError, ConfigError, UnknownName
from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.shape import DecimaShape

FORMAT = 1
KIND = "decima"


@dataclass(frozen=True)
class Checkpoint:
    shape: DecimaShape
    parameters: dict[str, NDArray[np.float32]]
    card: dict[str, Any]  # everything but the shape


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    weights, card = _paths(path)
    _check_parameters(weights, checkpoint.shape, checkpoint.parameters)
    weights.parent.mkdir(parents=True, exist_ok=True)
    shape = asdict(checkpoint.shape)
    columns = [column.name for column in feature_set(checkpoint.shape.features).columns]
    document = {"format": FORMAT, "kind": KIND, "shape": shape, "feature_columns": columns, **checkpoint.card}
    text = json.dumps(document, indent=2) + "\n"
    for target, content in ((weights, save(checkpoint.parameters)), (card, text.encode())):
        partial = target.with_name(target.name + ".part")
        partial.write_bytes(content)
        partial.replace(target)
    return card


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint by either of its files, or by the name they share."""
    weights, card = _paths(path)
    for file in (card, weights):
        if not file.is_file():
            raise CheckpointError(
                f"{file}: no such file; a checkpoint is a .safetensors file and a .json card beside it"
            )
    try:
        document = json.loads(card.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{card}: not a card ({error})") from error
    shape = _shape(card, document)
    try:
        parameters = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{weights}: cannot be read ({error})") from error
    _check_parameters(weights, shape, parameters)
    rest = {key: value for key, value in document.items() if key not in ("format", "kind", "shape", "feature_columns")}
    return Checkpoint(shape, parameters, rest)


def _paths(path: Path) -> tuple[Path, Path]:
    stem = path.with_suffix("") if path.suffix in (".json", ".safetensors") else path
    return stem.with_name(stem.name + ".safetensors"), stem.with_name(stem.name + ".json")


def _shape(card: Path, document: Any) -> DecimaShape:
    if not isinstance(document, dict) or document.get("kind") != KIND or document.get("format") != FORMAT:
        raise CheckpointError(f"{card}: not the card of a {KIND} network of format {FORMAT}")
    try:
        shape = build(DecimaShape, document["shape"], "shape")
    except UnknownName as error:
        raise CheckpointError(f"{card}: made for features that this version does not have: {error}") from error
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise CheckpointError(f"{card}: its shape is not that of a {KIND} network ({error})") from error
    columns = [column.name for column in feature_set(shape.features).columns]
    trained_on = document.get("feature_columns")
    if trained_on != columns:
        both = set(map(str, trained_on or [])) ^ set(columns)
        differs = f"{', '.join(sorted(both))} only in one of them" if both else "in another order"
        raise CheckpointError(f"{card}: trained on other features than {shape.features} has here: {differs}")
    for name, kind in (("arguments", dict), ("objective", str)):
        if name in document and not isinstance(document[name], kind):
            raise CheckpointError(f"{card}: {name} is {document[name]!r}; not a card that `dovetail train` wrote")
    return shape


def _check_parameters(weights: Path, shape: DecimaShape, parameters: dict[str, NDArray[Any]]) -> None:
    expected = {one.name: one.shape for one in shape.parameters()}
    if expected.keys() != parameters.keys():
        odd = sorted(expected.keys() ^ parameters.keys())
        raise CheckpointError(f"{weights}: does not fit its card: {', '.join(odd[:3])} missing or too many")
    for name, size in expected.items():
        value = parameters[name]
        if value.shape != size or value.dtype != np.float32:
            raise CheckpointError(f"{weights}: {name} is {value.dtype} {value.shape}; expected float32 {size}")
        if not np.isfinite(value).all():
            raise CheckpointError(f"{weights}: {name} has values that are not finite numbers")
