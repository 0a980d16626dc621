from __future__ import annotations

import json

import pytest

from dovetail.cli import main

SMALL = ["bench", "sim", "--jobs", "3", "--worlds", "4", "--seconds", "0.05"]


def test_json_has_rates_and_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    for rate, reference in (
        ("events", "reference_events_per_s"),
        ("python_decisions", "reference_decisions_per_s"),
        ("batched_decisions", "reference_decisions_per_s"),
    ):
        assert figures[f"{rate}_per_s"] > 0
        assert figures[f"{rate}_ratio"] == pytest.approx(figures[f"{rate}_per_s"] / figures[reference])


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    assert "task events per CPU-second, compiled scheduler" in out
    assert "x reference" in out


@pytest.mark.parametrize(
    ("option", "text"),
    [(["--jobs", "0"], "--jobs is 0"), (["--seconds", "-1"], "--seconds is -1"), (["--workload", "nix"], "nix")],
)
def test_bad_options(option: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *option]) == 2
    assert text in capsys.readouterr().err
