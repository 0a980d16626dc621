"""A training run on disk, which can be interrupted and go on: where it is, how it went, and the best network so far.

DIR/checkpoint.safetensors, .json   the best network so far and its card
DIR/state.npz, state.json           where the run is
DIR/progress.jsonl                  one line for each iteration
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.records.files import replacing

CHECKPOINT, STATE, ARRAYS, PROGRESS = "checkpoint", "state.json", "state.npz", "progress.jsonl"
MAY_CHANGE = ("plan.iterations",)  # a run may be made longer


class RunDirectory:
    """`facts` decide a run: plain values, some of them (such as the plan) mappings of plain values."""

    def __init__(self, path: Path, facts: dict[str, Any], *, resume: bool) -> None:
        check_place(path, STATE, resume=resume)
        self.path = path
        self.facts = facts

    @property
    def checkpoint(self) -> Path:
        return self.path / CHECKPOINT

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def log(self, figures: Mapping[str, float]) -> None:
        with (self.path / PROGRESS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(figures)) + "\n")

    def write(self, arrays: Mapping[str, Floats], document: Mapping[str, Any]) -> None:
        with replacing(self.path / ARRAYS) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        with replacing(self.path / STATE) as part:
            part.write_text(json.dumps({"job": self.facts, **document}), encoding="utf-8")

    def read(self) -> tuple[dict[str, Floats], dict[str, Any]]:
        """What was written last, by a run with the same facts."""
        file = self.path / STATE
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            with np.load(self.path / ARRAYS, allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            theirs = _flat(document["job"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise DovetailError(f"{file}: cannot be read ({error}); start again in another directory") from error
        ours = _flat(self.facts)
        differs = [name for name in ours if ours[name] != theirs.get(name) and name not in MAY_CHANGE]
        if differs:
            raise ConfigError(f"{self.path}: the run there has another {', '.join(differs)}; give the same options")
        return arrays, document


def check_place(path: Path, state: str, *, resume: bool) -> None:
    """Find out now, not after the first minutes, whether a run can start there, or go on; `state`: the file it is in.

    Nothing of anybody else is written over: a new run takes a new or an empty directory.
    """
    first = next(one for one in (path, *path.parents) if one.exists())
    if not first.is_dir():
        raise ConfigError(f"{path}: {first} is a file; expected a directory, or a new name for one")
    if not os.access(first, os.W_OK | os.X_OK):
        raise ConfigError(f"{path}: {first} cannot be written to; choose another directory")
    if (path / state).exists():
        if not resume:
            raise ConfigError(f"{path}: a run is there already; go on with --resume, or choose another directory")
        return
    cut_off = {f"{state}.part", ARRAYS, f"{ARRAYS}.part"}  # what a first write may leave
    if path.is_dir() and any(one.name not in cut_off for one in path.iterdir()):
        raise ConfigError(f"{path}: not empty, and holds no training run of this family; give a new or an empty one")
    if resume:
        raise ConfigError(f"{path}: no run to go on with; leave out --resume to start one")


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Values of mappings by their own names: `plan.iterations`."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            found |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            found[name] = value
    return found
