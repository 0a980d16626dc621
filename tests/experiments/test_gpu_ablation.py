"""The ablation of DAS: means over training seeds, and the whole script on settings of seconds."""

from __future__ import annotations

import sys

import commands
import gpu_ablation
import numpy as np
import pytest
from gpu_settings import FEE, JCT, Point, das_spec


def test_a_variant_is_the_mean_of_its_networks():
    minutes = {
        "gpu/mosa": [101, 101],
        "gpu/malo": [100, 100],
        das_spec("a"): [100, 110],
        das_spec("b"): [120, 110],
        das_spec("c"): [88, 88],
    }
    values = {name: {JCT: 60.0 * np.array(jct, float), FEE: np.full(2, 20.0)} for name, jct in minutes.items()}
    variants = {"DA": [das_spec("a"), das_spec("b")], "both": [das_spec("c")]}
    rows = gpu_ablation.ablation_table([Point("small", values)], variants).splitlines()
    assert rows[2].startswith("| DA | 2 | 110.0 / 20.00 | 105.0 to 115.0 | +10.0 % [+10.0, +10.0] |  |  |  |")
    assert rows[3].startswith("| both | 1 | 88.0 / 20.00 | 88.0 to 88.0 | -12.0 % [-12.0, -12.0] | -20.0 % [-20.0")
    alone = {name: value for name, value in values.items() if name.startswith("gpu/das")}
    assert "published" not in gpu_ablation.ablation_table([Point("small", alone)], variants)


def test_it_trains_compares_and_goes_on(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="training needs torch: pip install 'dovetail[learn]'")
    monkeypatch.setattr(commands, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(gpu_ablation, "RIVALS", ("gpu/fifo+first-fit",))
    monkeypatch.setattr(gpu_ablation, "VARIANTS", {"DA": ("communicate=false", "validation=1", "warm_up=0")})
    compare = gpu_ablation.measured
    monkeypatch.setattr(
        gpu_ablation, "measured", lambda name, words, *rest: compare(name, (*words, "--jobs", "10"), *rest)
    )
    monkeypatch.setattr(gpu_ablation, "TRAINED_ON", ("--jobs", "10"))
    words = ["--sizes", "small", "--training-seeds", "1", "--iterations", "1", "--rules", "1", "--seeds", "2"]
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "experiments/gpu_ablation.py",
            *words,
            "--without",
            "neighbours",
            "--rivals",
            "--out",
            str(tmp_path),
            "--write",
        ],
    )
    for _ in range(2):  # a second time, nothing is left to do
        gpu_ablation.main()
    written = (tmp_path / "results" / "gpu_ablation_no_neighbours.md").read_text()
    assert "| DA | 1 |" in written and written.splitlines()[-1] in capsys.readouterr().out
