"""The experiment over settings of GPU jobs: what it compares, and how it reads what it kept."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError

import commands
import gpu_settings
import numpy as np
import pytest
from gpu_settings import (
    FEE,
    JCT,
    MODERN,
    PUBLISHED,
    Point,
    average_table,
    das_spec,
    named,
    scheduler_table,
    shown,
)

from dovetail import SCHEDULERS
from dovetail.core.spec import split_specs
from dovetail.evaluation.contenders import Contender
from dovetail.schedulers.learned.das.scheduler import find_checkpoint

BEST, OTHER, CHEAP = "gpu/malo", "gpu/fifo+first-fit", "gpu/drf+first-fit"


def point(name="made up", **minutes):
    values = {
        {"malo": BEST, "fifo": OTHER, "drf": CHEAP, "das": gpu_settings.DAS}.get(one, f"gpu/das:checkpoint={one}"): {
            JCT: 60.0 * np.array(jct, dtype=float),
            FEE: np.full(len(jct), 10.0 if one == "drf" else 20.0),
            "avg_wait_s": np.full(len(jct), 120.0),
            "relative_speed": np.full(len(jct), 0.9),
        }
        for one, jct in minutes.items()
    }
    return Point(name, values)


def test_every_scheduler_exists_and_none_of_the_list_is_forgotten():
    listed = set(SCHEDULERS.names("gpu")) - {gpu_settings.DAS, "gpu/random"}
    assert listed <= set(PUBLISHED) | set(MODERN)
    assert all(Contender.of(name, "gpu").name == name for name in (*PUBLISHED, *MODERN))
    assert not set(PUBLISHED) & set(MODERN)


def test_times_and_fees_have_yardsticks_of_their_own():
    made_up = point(malo=[10, 20], fifo=[20, 20], drf=[40, 40], das=[9, 18])
    rows = scheduler_table(made_up, shown([("mine", "auto")])).splitlines()
    assert "to `gpu/malo`, best published" in rows[0] and "to `gpu/drf+first-fit`, best published by fee" in rows[0]
    assert rows[2].startswith("| **`gpu/das` (mine)** | 13.5 [9.0, 18.0] | -10.0 % [-10.0, -10.0] | 20.00 | +100.0 %")
    assert rows[3].startswith("| `gpu/malo` (published) | 15.0 [10.0, 20.0] |  | 20.00 |")
    assert rows[3].endswith("| 2.0 | 90.0 % | 2 |")


def test_the_average_over_sizes_is_that_of_their_percentages():
    small, large = point("small", malo=[100, 100], das=[90, 90]), point("large", malo=[10, 10], das=[10.4, 10.4])
    rows = average_table([small, large], shown([("mine", "auto")])).splitlines()
    assert "| small | large | average |" in rows[0]
    assert "| 90.0 / 20.00 | 10.4 / 20.00 | 50.2 / 20.00 | -3.0 % [-3.0, -3.0] | +0.0 % [+0.0, +0.0] |" in rows[2]


def test_names_of_networks():
    assert named("mine=runs/das/checkpoint") == ("mine", "runs/das/checkpoint")
    assert named("auto") == ("auto", "auto")
    with pytest.raises(ArgumentTypeError, match="expected NAME=CHECKPOINT"):
        named("mine=")
    assert das_spec("auto") == "gpu/das" and das_spec("x/y") == "gpu/das:checkpoint=x/y"


def test_it_runs_keeps_and_records(tmp_path, monkeypatch, capsys):
    """The whole script, with settings so small that it takes seconds; a second run adds networks only."""
    monkeypatch.setattr(commands, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(gpu_settings, "PUBLISHED", ("gpu/fifo+first-fit", "gpu/tetris"))
    monkeypatch.setattr(gpu_settings, "MODERN", ("gpu/srtf+topology",))
    options = gpu_settings.measured
    monkeypatch.setattr(
        gpu_settings, "measured", lambda name, words, *rest: options(name, (*words, "--jobs", "10"), *rest)
    )
    monkeypatch.setattr(gpu_settings, "SEARCHES", ("gpu/tetris",))
    words = ["--only", "small", "medium", "large", "--seeds", "2", "--searches", "1", "--out", str(tmp_path), "--write"]
    monkeypatch.setattr(sys, "argv", ["experiments/gpu_settings.py", *words, "--das"])
    gpu_settings.main()
    assert "gpu/das" not in capsys.readouterr().out.replace("the paper of DAS", "")
    monkeypatch.setattr(sys, "argv", ["experiments/gpu_settings.py", *words, "--das", "auto"])
    gpu_settings.main()
    written = (tmp_path / "results" / "gpu_settings.md").read_text()
    assert "## `medium`" in written and "## All sizes\n" in written
    assert "clusters of one type of GPU" in written.splitlines()[0]
    assert "On `large` the searches `gpu/tetris` met the first 1 only" in written
    rows = [line for line in written.splitlines() if line.startswith("| `gpu/tetris`")]
    assert [row.split("|")[-2].strip() for row in rows[:3]] == ["2", "2", "1"]
    assert not (tmp_path / "results" / "gpu_settings_mixed.md").exists()
    assert "**`gpu/das` (auto)**" in written
    assert "## CPU seconds of a sequence" in written and written.splitlines()[-1] in capsys.readouterr().out


@pytest.mark.parametrize(("card", "clusters"), [("cloud", "gpu_settings"), ("cloud-mixed", "gpu_settings_mixed")])
def test_networks_are_trained_as_the_bundled_ones_were(card, clusters):
    document = json.loads((find_checkpoint(card).parent / f"{card}.json").read_text())
    asked = dict(zip(*[iter(gpu_settings.CLUSTERS[clusters].learned_from())] * 2, strict=True))
    assert document["settings"][0]["workload"] == asked["--workload"]
    assert [one["workload"] for one in document["settings"][1:]] == split_specs(asked["--mix"])
    assert document["seed"] in (0, 1, 2)


def test_it_trains_the_networks_whose_mean_it_shows(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="training needs torch: pip install 'dovetail[learn]'")
    monkeypatch.setattr(commands, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(gpu_settings, "PUBLISHED", ("gpu/fifo+first-fit",))
    monkeypatch.setattr(gpu_settings, "MODERN", ())
    monkeypatch.setattr(gpu_settings, "MOSTLY_GANGS", ("jobs=10,gang_share=0.5",))
    options = gpu_settings.measured
    monkeypatch.setattr(
        gpu_settings, "measured", lambda name, words, *rest: options(name, (*words, "--jobs", "10"), *rest)
    )
    plan = ("rules=1", "pairs=2", "iterations=0", "neighbours=2", "warm_up=0", "sequences=2", "validation=1")
    words = ["--only", "small", "--seeds", "2", "--networks", "0", "2", "--out", str(tmp_path)]
    words += [word for each in plan for word in ("--set", each)]
    monkeypatch.setattr(sys, "argv", ["experiments/gpu_settings.py", *words])
    gpu_settings.main()
    shown_first = capsys.readouterr().out
    assert "**`gpu/das` (0)**" in shown_first and "**`gpu/das` (2)**" in shown_first
    assert "**`gpu/das`, mean of 2 networks**" in shown_first
    card = json.loads((tmp_path / "networks" / "one-2" / "checkpoint.json").read_text())
    assert card["seed"] == 2 and "--workers 1" in card["command"] and len(card["settings"]) == 3
    gpu_settings.main()  # networks are there, and so are the comparisons
    assert capsys.readouterr().out == shown_first


def test_half_of_a_file_is_not_written(monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["gpu_settings.py", "--only", "small", "medium", "large", "large-mixed", "--write"]
    )
    with pytest.raises(SystemExit):
        gpu_settings.main()
    assert "--only small-mixed medium-mixed large-mixed" in capsys.readouterr().err


def test_the_best_is_chosen_on_shared_sequences():
    assert point(malo=[10], fifo=[11, 1]).best(JCT) == BEST
    assert point(malo=[10], fifo=[11, 1]).difference(OTHER, BEST, JCT).mean == pytest.approx(10.0)
