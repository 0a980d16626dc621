"""The two files of a trained network: `NAME.safetensors` with its parameters, `NAME.json` with its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from dovetail.core.errors import CheckpointError, UnknownName

FORMAT = 1

Arrays = dict[str, NDArray[Any]]


def find_checkpoint(name: str, bundled: Path) -> Path:
    """A bundled checkpoint by its name, or any by its path."""
    names = sorted(card.stem for card in bundled.glob("*.json"))
    inside = Path(name) / "checkpoint"  # where `train` puts it
    if name not in names and both_paths(inside)[0].is_file():
        raise CheckpointError(f"{name}: the folder of a training run; its network is {inside}")
    if "/" in name or name.endswith((".json", ".safetensors")) or Path(f"{name}.safetensors").is_file():
        return Path(name)
    if name not in names:
        raise UnknownName("checkpoint", name, names)
    return bundled / name


def write_files(path: Path, kind: str, card: dict[str, Any], parameters: Arrays) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    weights, card_path = both_paths(path)
    weights.parent.mkdir(parents=True, exist_ok=True)
    _write(weights, save(parameters))
    rewrite_card(card_path, {"format": FORMAT, "kind": kind, **card})
    return card_path


def rewrite_card(path: Path, document: dict[str, Any]) -> None:
    _write(path, (json.dumps(document, indent=2) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    partial.replace(path)


def read_card(path: Path) -> tuple[Path, dict[str, Any]]:
    """Where the card is and what it says, by either file or by the name they share."""
    weights, card = both_paths(path)
    for file in (card, weights):
        if not file.is_file():
            raise CheckpointError(
                f"{file}: no such file; a checkpoint is a .safetensors file and a .json card beside it"
            )
    try:
        document = json.loads(card.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{card}: not a card ({error})") from error
    if not isinstance(document, dict):
        raise CheckpointError(f"{card}: not a card; expected a JSON object")
    return card, document


def read_files(path: Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """The card of a network of that kind, and its parameters."""
    card, document = read_card(path)
    if document.get("kind") != kind or document.get("format") != FORMAT:
        raise CheckpointError(f"{card}: not the card of a {kind} network of format {FORMAT}")
    for name, expected in (("arguments", dict), ("objective", str)):
        if name in document and not isinstance(document[name], expected):
            raise CheckpointError(f"{card}: {name} is {document[name]!r}; not a card that `dovetail train` wrote")
    weights, _ = both_paths(path)
    try:
        return document, load_file(weights)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{weights}: cannot be read ({error})") from error


def check_columns(card: Path, features: str, trained_on: object, columns: list[str]) -> None:
    """A network reads the columns it was trained on, or none; and what they hold is what it was then.

    Columns of the same names may be computed otherwise in another version, whose name is then another.
    """
    _, document = read_card(card)
    version = document.get("features", features)  # those that go by another name have no such entry
    if version != features:
        raise CheckpointError(f"{card}: trained on the features {version}; this version has {features}; train it anew")
    if trained_on != columns:
        both = set(map(str, trained_on if isinstance(trained_on, list) else [])) ^ set(columns)
        differs = f"{', '.join(sorted(both))} only in one of them" if both else "in another order"
        raise CheckpointError(f"{card}: trained on other features than {features} has here: {differs}")


def check_parameters(weights: Path, expected: dict[str, tuple[int, ...]], parameters: Arrays) -> None:
    """Every parameter is there, of its size, and a number."""
    if expected.keys() != parameters.keys():
        odd = sorted(expected.keys() ^ parameters.keys())
        raise CheckpointError(f"{weights}: does not fit its card: {', '.join(odd[:3])} missing or too many")
    for name, size in expected.items():
        value = parameters[name]
        if value.shape != size or value.dtype != np.float32:
            raise CheckpointError(f"{weights}: {name} is {value.dtype} {value.shape}; expected float32 {size}")
        if not np.isfinite(value).all():
            raise CheckpointError(f"{weights}: {name} has values that are not finite numbers")


def both_paths(path: Path) -> tuple[Path, Path]:
    """The parameters' file and the card's."""
    stem = path.with_suffix("") if path.suffix in (".json", ".safetensors") else path
    return stem.with_name(stem.name + ".safetensors"), stem.with_name(stem.name + ".json")
