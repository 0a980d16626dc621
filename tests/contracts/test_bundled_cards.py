"""What the card of every bundled network says: that whoever has the repository can find the code it was trained with.

And that a network that was trained on another version of its features is refused, whatever its family.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.core.errors import CheckpointError
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint as load_das
from dovetail.schedulers.learned.decima.checkpoint import load_checkpoint as load_decima
from dovetail.schedulers.learned.elastic.checkpoint import load_checkpoint as load_elastic
from dovetail.schedulers.learned.gpu_baselines.dl2 import load_network as load_dl2
from dovetail.schedulers.learned.stream.checkpoint import load_checkpoint as load_stream

ROOT = Path(__file__).parents[2]
CARDS = sorted((Path(dovetail.__file__).parent / "schedulers" / "learned").glob("*/checkpoints/*.json"))
NOT_IN_THE_HISTORY = {
    "elastic-contended": "trained before the history begins, on a scheduler that has changed since: docs/elastic.md",
}
"""Networks whose cards name commits that nobody can find.  No other may be added; this one goes when it is replaced."""
LOADERS: dict[str, Callable[[Path], Any]] = {
    "das": load_das,
    "decima": load_decima,
    "dl2": load_dl2,
    "elastic": load_elastic,
    "stream": load_stream,
}
WITHOUT_VERSION = {"rifling"}  # a table, whose states are compared one by one


def folder_of(card: Path) -> str:
    return card.parents[1].name


def name_of(card: Path) -> str:
    return f"{folder_of(card)}-{card.stem}"


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, timeout=30, check=False)


def why_no_history() -> str:
    if shutil.which("git") is None:
        return "git is not installed; with it, commits on cards are looked up"
    top = git("rev-parse", "--show-toplevel", "--is-shallow-repository")
    if top.returncode != 0 or Path(top.stdout.splitlines()[0]).resolve() != ROOT.resolve():
        return f"{ROOT} is no git checkout ({top.stderr.strip()}); commits on cards are looked up in a clone"
    if top.stdout.splitlines()[1] == "true":
        return "a shallow clone, which lacks the commits on cards; `git fetch --unshallow` gets them"
    return ""


def test_exceptions_are_of_networks_that_are_there() -> None:
    assert set(NOT_IN_THE_HISTORY) <= {name for card in CARDS for name in (folder_of(card), name_of(card))}


def test_there_are_cards_of_all_that_learn() -> None:
    assert {folder_of(card) for card in CARDS} == {"das", "decima", "elastic", "gpu_baselines", "stream"}


@pytest.mark.parametrize("card", CARDS, ids=name_of)
def test_the_commit_on_the_card_is_in_the_history(card: Path) -> None:
    if known := NOT_IN_THE_HISTORY.get(folder_of(card)) or NOT_IN_THE_HISTORY.get(name_of(card)):
        pytest.skip(known)
    if reason := why_no_history():
        pytest.skip(reason)
    commit = json.loads(card.read_text(encoding="utf-8"))["commit"]
    found = git("merge-base", "--is-ancestor", f"{commit}^{{commit}}", "HEAD")
    assert found.returncode == 0, f"{card.name}: commit {commit} is not in the history of what is checked out"


@pytest.mark.parametrize("card", CARDS, ids=name_of)
def test_the_card_says_how_to_make_the_network_again(card: Path) -> None:
    document = json.loads(card.read_text(encoding="utf-8"))
    assert document["command"].startswith(("dovetail train ", "python experiments/")) and document["version"]


@pytest.mark.parametrize("card", [card for card in CARDS if card.stem not in WITHOUT_VERSION], ids=name_of)
def test_another_version_of_the_features_is_refused(card: Path, tmp_path: Path) -> None:
    load = LOADERS[card.stem if folder_of(card) == "gpu_baselines" else folder_of(card)]
    for file in (card, card.with_suffix(".safetensors")):
        shutil.copy(file, tmp_path)
    copy = tmp_path / card.name
    load(copy)
    document = json.loads(copy.read_text(encoding="utf-8"))
    where = document if "features" in document else document["shape"]
    where["features"] = "another-9"
    copy.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(CheckpointError, match="another-9"):
        load(copy)
