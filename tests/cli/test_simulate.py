from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluation.matrices import register_odd

from dovetail.cli import main
from dovetail.records import read_records

SMALL = ["simulate", "dag", "--workload", "layered:dags=6", "--jobs", "3", "--executors", "8"]


def test_record_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x"
    words = [*SMALL, "--scheduler", "dag/weighted-fair:alpha=1", "--seed", "5", "--out", str(out)]
    assert main(words) == 0
    found = capsys.readouterr()
    assert found.out.startswith("dag/weighted-fair:alpha=1, seed 5: ") and "average JCT" in found.out
    assert f"dovetail report {out}" in found.err
    records = read_records(out)
    (run,) = records.runs
    assert (run.scheduler, run.params, run.seed) == ("dag/weighted-fair", {"alpha": 1.0}, 5)
    assert len(records.run(run.run).tasks) > 0 and len(records.summary) == 1
    before = (out / "manifest.json").read_bytes()
    assert main([*records.manifest["command"].split()[1:], "--out", str(out)]) == 0
    assert (out / "manifest.json").read_bytes() == before


def test_it_is_the_cell_of_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--scheduler", "dag/random", "--seed", "5", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    words = ["--schedulers", "dag/fair,dag/random", "--seed", "5", "--seeds", "1", "--json"]
    assert main(["compare", *SMALL[1:], *words]) == 0
    rows = {row["scheduler"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    together = rows["dag/random"]["metrics"]
    assert alone["metrics"] == {name: one["mean"] for name, one in together.items()}
    assert alone["decisions"] > 0 and alone["events"] > 0 and alone["seed"] == 5


def test_a_directory_collects_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("dag/fair", "dag/fifo"):
        assert main([*SMALL, "--scheduler", name, "--out", str(tmp_path / "x")]) == 0
    assert [run.scheduler for run in read_records(tmp_path / "x").runs] == ["dag/fair", "dag/fifo"]
    assert main([*SMALL, "--scheduler", "dag/fifo", "--out", str(tmp_path / "x"), "--jobs", "2"]) == 2
    assert "--force" in capsys.readouterr().err


def test_a_scheduler_that_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    register_odd(monkeypatch, "Invalid")
    assert main([*SMALL, "--scheduler", "dag/invalid"]) == 1
    found = capsys.readouterr()
    assert found.out == "" and "dag/invalid, seed 0: InvalidDecision" in found.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scheduler", "dag/rnd"], "did you mean 'dag/random'?"),
        (["--scheduler", "dag/fair", "--jobs", "0"], "jobs is 0"),
        (["--scheduler", "dag/fair", "--seed", "-1"], "seed is -1"),
    ],
)
def test_bad_input(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--out", str(tmp_path / "x"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
