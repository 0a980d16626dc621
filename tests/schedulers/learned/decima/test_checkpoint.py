from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.schedulers.learned.decima.networks import SHAPES, random_parameters

from dovetail.core.errors import CheckpointError
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint, load_checkpoint, save_checkpoint

SHAPE = SHAPES["informed"]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "net", Checkpoint(SHAPE, random_parameters(SHAPE), {"seed": 7}))
    return tmp_path / "net"


@pytest.mark.parametrize("suffix", ["", ".json", ".safetensors"])
def test_what_is_saved_is_loaded(stored: Path, suffix: str) -> None:
    found = load_checkpoint(stored.with_name(f"net{suffix}"))
    assert found.shape == SHAPE
    assert found.card == {"seed": 7}
    for name, value in random_parameters(SHAPE).items():
        np.testing.assert_array_equal(found.parameters[name], value)
    assert sorted(file.name for file in stored.parent.iterdir()) == ["net.json", "net.safetensors"]


def change_card(stored: Path, **changes: object) -> None:
    card = stored.with_suffix(".json")
    card.write_text(json.dumps({**json.loads(card.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "das"}, "not the card of a decima network"),
        ({"format": 99}, "not the card of a decima network of format 1"),
        ({"shape": {"features": "informed-2"}}, "does not fit its card"),
        ({"shape": {**SHAPE.__dict__, "graph": "no"}}, "shape: graph: expected bool, got 'no'"),
        ({"shape": 5}, "not that of a decima network"),
        ({"arguments": 5}, "arguments is 5"),
        ({"objective": ["x"]}, "objective is"),
        ({"feature_columns": ["tasks"]}, "other features than informed-3 has here: critical_path"),
        ({"shape": {**SHAPE.__dict__, "features": "informed-7"}}, "features that this version does not have"),
        ({"shape": {**SHAPE.__dict__, "embedding": 6}}, r"expected float32 \(6, 6\)"),
        ({"shape": {**SHAPE.__dict__, "head": [9, 9]}}, "does not fit its card: class.2.bias"),
    ],
)
def test_a_card_that_does_not_fit_is_refused(stored: Path, changes: dict[str, object], says: str) -> None:
    change_card(stored, **changes)
    with pytest.raises(CheckpointError, match=says):
        load_checkpoint(stored)


def test_damaged_and_missing_files(stored: Path) -> None:
    weights = stored.with_suffix(".safetensors")
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(stored)
    weights.write_bytes(whole)
    bad = load_file(weights)
    bad["stage.0.bias"][0] = np.nan
    save_file(bad, weights)
    with pytest.raises(CheckpointError, match="not finite"):
        load_checkpoint(stored)
    weights.unlink()
    with pytest.raises(CheckpointError, match="no such file"):
        load_checkpoint(stored)
    stored.with_suffix(".json").write_text("{")
    weights.write_bytes(whole)
    with pytest.raises(CheckpointError, match="not a card"):
        load_checkpoint(stored)
