"""Every bundled network still does what its card says, on a few of the held-out sequences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.cli import main
from dovetail.evaluation.networks import TrainedNetwork
from dovetail.schedulers.learned.decima.scheduler import BUNDLED

CARDS = sorted(BUNDLED.glob("*.json"))
TRACES = {"tpch": ["tpch", str(DATA / "tpch")], "alibaba": ["alibaba2018", str(DATA / "alibaba2018"), "--one-core"]}
"""How the workloads were imported that are not generated, by what the cards call them."""
RIVALS = ("dag/fair", "dag/fair-spill", "dag/weighted-fair")
SEQUENCES = 32


def facts_of(card: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(card.read_text())
    return facts


def cases() -> Iterator[Any]:
    for card in CARDS:
        workload = facts_of(card)["arguments"]["workload"]
        marks = [needs_data(workload)] if workload in TRACES else []
        yield pytest.param(card, id=card.stem, marks=marks)


@pytest.mark.parametrize("card", list(cases()))
def test_the_claim_holds_on_some_of_the_sequences(
    card: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = facts_of(card)
    yardstick = TrainedNetwork.find(card.stem).kind.yardsticks.get(facts["objective"], "avg_jct_s")
    words = ["evaluate", card.stem, "--seeds", str(SEQUENCES), "--schedulers", ",".join(RIVALS), "--json"]
    trace = TRACES.get(facts["arguments"]["workload"])
    if trace is not None:
        assert main(["workload", "import", *trace, "--out", str(tmp_path / "trace")]) == 0
        words += ["--workload", str(tmp_path / "trace")]
    capsys.readouterr()
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {row["scheduler"]: row["metrics"][yardstick]["mean"] for row in rows}
    claimed = {name: value["mean"] for name, value in facts["held_out"][yardstick].items()}
    for rival in RIVALS:
        gain, on_card = (values["dag/decima"] / values[rival] for values in (found, claimed))
        assert gain < 1.0, f"{card.stem}: not below {rival} on {SEQUENCES} sequences"
        assert gain == pytest.approx(on_card, abs=0.06), f"{card.stem}: the card says {on_card:.3f} of {rival}"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_card_says_how_it_was_made(card: Path) -> None:
    facts = facts_of(card)
    assert facts["command"].startswith("dovetail train dag")
    assert facts["commit"] and facts["plan"]["seed"] >= 0 and facts["curve"]
    assert facts["held_out"]["seeds"] == [0, 99]
    for file in (card, card.with_suffix(".safetensors")):
        assert file.stat().st_size < 5_000_000
