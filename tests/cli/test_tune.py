from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.cli import main

SMALL = ["--workload", "layered:dags=6", "--jobs", "3", "--executors", "8", "--seeds", "2", "--workers", "1"]


def test_curve_and_spec(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "dag/weighted-fair", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "alpha" and len(lines) == 1 + 41 + 3
    assert lines[-2].startswith("best: ") and "against the start" in lines[-2]
    assert lines[-1].startswith("dag/weighted-fair")
    assert main(["compare", "dag", "--schedulers", lines[-1], *SMALL]) == 0


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "dag/weighted-fair", "--metric", "makespan_s", "--json", *SMALL]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["seeds"] == [1000, 1001] and document["metric"] == "makespan_s"
    assert len(document["curve"]) == 41
    assert document["best"]["mean"] == min(point["mean"] for point in document["curve"])
    assert document["best"]["mean"] <= document["start"]["mean"] and document["vs_start_pct"] <= 0
    assert document["start"]["spec"] == "dag/weighted-fair"


def test_a_files_seeds_are_not_for_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text('seed = 0\nseeds = 3\nschedulers = ["dag/fifo"]')
    assert main(["tune", "dag/fair-spill", "--json", "--config", str(file), *SMALL[:-4]]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == [1000, 1001, 1002]


def test_evaluation_seeds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "dag/weighted-fair", *SMALL, "--seed", "999"]
    assert main(words) == 2
    assert "0 to 999" in capsys.readouterr().err
    assert main([*words, "--allow-overlap", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == [999, 1000]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dag/fifo"], "declares nothing to tune"),
        (["weighted-fair"], "did you mean 'dag/weighted-fair'?"),
        (["dag/weighted-fair:alpha=1"], "given already"),
        (["dag/weighted-fair", "--metric", "makespan"], "did you mean 'makespan_s'?"),
        (["dag/weighted-fair", "--seeds", "0"], "seeds is 0"),
        (["dag/weighted-fair", "--workers", "0"], "workers is 0"),
    ],
)
def test_bad_input(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", words[0], *SMALL, *words[1:]]) == 2
    found = capsys.readouterr()
    assert message in found.err and found.out == ""
