"""Every bundled price network still does what its card says, on a few of the held-out sequences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.schedulers.learned.elastic.learned import BUNDLED

CARDS = sorted(BUNDLED.glob("*.json"))
RIVALS = ("elastic/srtf", "elastic/oasis")
SEQUENCES = 6


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_claim_holds_on_some_of_the_sequences(card: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seeds", str(SEQUENCES), "--schedulers", ",".join(RIVALS), "--workers", "1", "--json"]
    assert main(["evaluate", card.stem, *words]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {row["scheduler"]: row["metrics"]["total_utility"]["mean"] for row in rows}
    claimed = {name: value["mean"] for name, value in json.loads(card.read_text())["held_out"]["total_utility"].items()}
    for rival in RIVALS:
        gain, on_card = (values["elastic/learned"] / values[rival] for values in (found, claimed))
        assert gain > 1.0, f"{card.stem}: not above {rival} on {SEQUENCES} sequences"
        assert gain == pytest.approx(on_card, abs=0.1), f"{card.stem}: the card says {on_card:.3f} of {rival}"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_card_says_how_it_was_made(card: Path) -> None:
    facts = json.loads(card.read_text())
    assert facts["command"].startswith("dovetail train elastic")
    assert len(facts["commit"]) == 40
    assert facts["held_out"]["seeds"][1] < 1000
    assert card.with_suffix(".safetensors").stat().st_size < 5_000_000


def test_there_is_one() -> None:
    assert CARDS
