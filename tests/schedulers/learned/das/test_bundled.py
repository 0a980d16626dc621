"""Every bundled DAS network still does what its card says, on the same held-out sequences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dovetail.cli import main
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS
from dovetail.schedulers.learned.das.forward import judged_jobs
from dovetail.schedulers.learned.das.scheduler import BUNDLED, load_network

CARDS = sorted(BUNDLED.glob("*.json"))
BEATEN, RIVALS = "gpu/fifo+first-fit", ("gpu/fifo+first-fit", "gpu/srtf+topology")


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_claim_holds(card: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On all sequences of the card: there the ratios are the same, but for what another processor rounds otherwise."""
    held_out = json.loads(card.read_text())["held_out"]
    first, last = held_out["seeds"]
    words = [
        "--seed",
        str(first),
        "--seeds",
        str(last - first + 1),
        "--schedulers",
        ",".join(RIVALS),
        "--workers",
        "1",
        "--json",
    ]
    assert main(["evaluate", card.stem, *words]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {row["scheduler"]: row["metrics"]["avg_jct_s"]["mean"] for row in rows}
    claimed = {name: value["mean"] for name, value in held_out["avg_jct_s"].items()}
    for rival in RIVALS:
        ratio, on_card = (values["gpu/das"] / values[rival] for values in (found, claimed))
        assert ratio < 1.0 or rival != BEATEN, f"{card.stem}: not below {rival}"
        assert ratio == pytest.approx(on_card, abs=0.02), f"{card.stem}: the card says {on_card:.3f} of {rival}"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_card_says_how_it_was_made(card: Path) -> None:
    facts = json.loads(card.read_text())
    assert facts["command"].startswith("dovetail train gpu")
    assert len(facts["commit"]) == 40
    assert facts["held_out"]["seeds"][1] < 1000
    assert card.with_suffix(".safetensors").stat().st_size < 5_000_000


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_card_says_what_the_agents_add_to_the_rules(card: Path) -> None:
    """Where the ordering agent adds nothing, jobs are judged one by one; else each is judged by the whole queue."""
    network, said = load_network(card.stem), json.loads(card.read_text())["corrections"]
    for agent in ("order", "place"):
        assert said[agent] == pytest.approx(np.linalg.norm(network.parameters[f"{agent}.out.weight"]), abs=1e-4)
    assert said["waits"] == pytest.approx(np.linalg.norm(network.parameters["order.trust"]), abs=1e-4)
    rng = np.random.default_rng(0)
    jobs, machines = rng.random((6, len(JOB_COLUMNS))), rng.random((8, len(MACHINE_COLUMNS)))
    alone = np.array([judged_jobs(network.weights, jobs[j : j + 1].copy(), machines)[0] for j in range(6)])
    together = judged_jobs(network.weights, jobs, machines)
    assert np.allclose(alone, together) == (said["order"] == said["waits"] == 0.0)


def test_there_is_one() -> None:
    assert CARDS
