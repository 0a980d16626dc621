"""Every bundled network of an autoscaler still does what its card says, on a few of the held-out sequences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dovetail.cli import main
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.stream.checkpoint import BUNDLED, load_checkpoint
from dovetail.schedulers.learned.stream.kinds import KINDS

CARDS = sorted(BUNDLED.glob("*.json"))
RIVAL = "stream/ds2:utilisation=0.4"
SEQUENCES = 4


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_claim_holds_on_some_of_the_sequences(card: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seeds", str(SEQUENCES), "--schedulers", RIVAL, "--workers", "1", "--json"]
    assert main(["evaluate", card.stem, *words]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {row["scheduler"]: row["metrics"]["reward"]["mean"] for row in rows}
    claimed = json.loads(card.read_text())["held_out"]["reward"]
    name = f"stream/{card.stem}"
    gain = found[name] - found["stream/ds2"]
    on_card = claimed[name]["mean"] - claimed[RIVAL]["mean"]
    assert gain > 0.0 or card.stem == "deepwave", f"{card.stem}: not above {RIVAL} on {SEQUENCES} sequences"
    assert gain == pytest.approx(on_card, abs=0.02), f"{card.stem}: the card says {on_card:+.3f} to {RIVAL}"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_card_says_how_it_was_made(card: Path) -> None:
    facts = json.loads(card.read_text())
    assert facts["command"].startswith("dovetail train stream")
    assert len(facts["commit"]) == 40
    assert facts["held_out"]["seeds"][1] < 1000
    assert card.with_suffix(".safetensors").stat().st_size < 5_000_000
    assert np.abs(load_checkpoint(card).parameters["head.out.weight"]).max() > 0.0  # it says something


def test_the_choice_of_a_trained_network_can_be_left_to_chance() -> None:
    """Another sampler, the same parameters; no training."""
    trained, chance = (SCHEDULERS.create(f"stream/sure{more}") for more in ("", ":sampler=random"))
    one, other = trained._trained, chance._trained
    assert (one.shape.sampler, other.shape.sampler) == ("learned", "random")
    assert all((one.parameters[name] == other.parameters[name]).all() for name in one.parameters)


def test_there_is_one_of_each_kind() -> None:
    assert {card.stem for card in CARDS} == set(KINDS)
