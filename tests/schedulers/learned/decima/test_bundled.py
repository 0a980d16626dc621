"""Every bundled network still does what its card says, on a few of the held-out sequences."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dovetail.cli.dag_options import DagArguments
from dovetail.core.config import build
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.decima.scheduler import BUNDLED
from dovetail.sim.dag import DagWorld, run
from dovetail.workloads import open_source

CARDS = sorted(BUNDLED.glob("*.json"))
RIVALS = ("dag/fair", "dag/fair-spill", "dag/weighted-fair")
SEQUENCES = 8


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_claim_holds_on_some_of_the_sequences(card) -> None:
    facts = json.loads(card.read_text())
    setting = build(DagArguments, facts["arguments"], card.name).setting()
    source = open_source(setting.workload)
    mean_s = {}
    for spec in (f"dag/decima:checkpoint={card.stem}", *RIVALS):
        found = []
        for seed in range(SEQUENCES):
            seeds = SeedTree(seed)
            world = DagWorld(source.sequence(setting.jobs, setting.arrivals, seeds), setting.options, seeds)
            found.append(run(world, SCHEDULERS.create(spec), seeds.generator()).avg_jct_s)
        mean_s[spec.partition(":")[0]] = float(np.mean(found))
    claimed = facts["held_out"]["avg_jct_s"]
    for rival in RIVALS:
        gain = mean_s["dag/decima"] / mean_s[rival]
        on_card = claimed["dag/decima"]["mean"] / claimed[rival]["mean"]
        assert gain < 1.0, f"{card.stem}: not below {rival} on {SEQUENCES} sequences"
        assert gain == pytest.approx(on_card, abs=0.06), f"{card.stem}: the card says {on_card:.3f} of {rival}"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_card_says_how_it_was_made(card) -> None:
    facts = json.loads(card.read_text())
    assert facts["command"].startswith("dovetail train dag")
    assert facts["commit"] and facts["plan"]["seed"] >= 0 and facts["curve"]
    assert facts["held_out"]["seeds"] == [0, 99]
    for file in (card, card.with_suffix(".safetensors")):
        assert file.stat().st_size < 5_000_000
