"""What the learned parts of DAS are worth: parts that exist, one at a time, on the whole script."""

from __future__ import annotations

import sys

import commands
import gpu_parts
import numpy as np
import pytest

from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.scheduler import find_checkpoint


@pytest.mark.parametrize("network", list(gpu_parts.WHERE))
@pytest.mark.parametrize("part", list(gpu_parts.PARTS))
def test_a_part_is_there_and_then_it_is_not(network, part, tmp_path):
    whole = load_checkpoint(find_checkpoint(network)).network.parameters
    spec = gpu_parts.without(network, part, tmp_path)
    left = load_checkpoint(find_checkpoint(spec.partition("checkpoint=")[2])).network.parameters
    for name, value in whole.items():
        if name in gpu_parts.PARTS[part]:
            assert not left[name].any()
        else:
            assert np.array_equal(left[name], value)
    assert any(whole[name].any() for name in gpu_parts.PARTS[part])


def test_it_runs_and_records(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(gpu_parts, "WHERE", {"cloud": {"small:jobs=10": 40}})
    words = ["experiments/gpu_parts.py", "--sequences", "2", "--out", str(tmp_path), "--write"]
    monkeypatch.setattr(sys, "argv", words)
    for _ in range(2):
        gpu_parts.main()
    written = (tmp_path / "results" / "gpu_parts.md").read_text()
    assert "| without | `cloud`: `small:jobs=10` (2) |" in written and "| who slows whom down |" in written
    assert written.splitlines()[-1] in capsys.readouterr().out
