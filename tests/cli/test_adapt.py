from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from dovetail.cli import main

SMALL = ["adapt", "dag", "--jobs", "150"]


def test_what_happens_is_told_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SMALL) == 0
    found = capsys.readouterr()
    lines = found.out.splitlines()
    assert "runs  drf+equal-dominant+smallest-fit+local  (the first window)" in lines[0]
    assert any("the work has changed" in line for line in lines)
    assert "150 jobs" in found.err and "2 classes of work" in found.err


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--compositions", "drf", "srtf+hesrpt", "--learner", "ucb1", "--seed", "3", "--json"]
    assert main([*SMALL, *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["compositions"] == ["drf+all+smallest-fit+central", "srtf+hesrpt+smallest-fit+central"]
    assert document["learner"] == "ucb1" and document["seed"] == 3 and document["avg_jct_s"] > 0
    assert document["workload"]["name"] == "changing"
    assert document["events"][0]["kind"] == "start" and len(document["events"][-1]["beliefs"]) == 2


def test_what_was_learned_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "beliefs.json"
    assert main([*SMALL, "--beliefs", str(file)]) == 0
    capsys.readouterr()
    assert main([*SMALL, "--beliefs", str(file), "--seed", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "classes of work are known" in document["events"][0]["why"]
    assert main([*SMALL, "--beliefs", str(file), "--objective", "makespan"]) == 2
    assert "beliefs.json: beliefs: learned for 'completion'" in capsys.readouterr().err
    file.write_text("no JSON")
    assert main([*SMALL, "--beliefs", str(file)]) == 2
    assert "beliefs.json: cannot be read as JSON" in capsys.readouterr().err


def test_another_workload_and_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--workload", "layered:dags=6", "--jobs", "30", "--executors", "8", "--interval", "5"]
    assert main(["adapt", "dag", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workload"]["arrivals"] == "poisson"


def test_the_table_on_a_terminal() -> None:
    from rich.console import Console

    from dovetail.adaptation.events import Event
    from dovetail.adaptation.learners import Belief
    from dovetail.cli.adapt_display import beliefs_table

    beliefs = (Belief(0.61, 0.05, 4.0), Belief(0.5, float("inf"), 0.0))
    event = Event(1234.0, "window", "drf", "20 jobs are complete", 2, (0.1, 2.0), True, "fifo", 1.5, 0.6, beliefs)
    console = Console(width=120, record=True, file=StringIO())
    console.print(beliefs_table(event, ("drf", "fifo")))
    text = console.export_text()
    assert "1,234 s: 20 jobs are complete" in text and "granularity 0.10, width 2.00" in text
    (row,) = [line for line in text.splitlines() if " drf " in line]
    assert "tries" in row and "0.61" in row and "0.05" in row


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--learner", "guess"], "learner/guess"),
        (["--compositions", "drf+nonsense"], "size/nonsense"),
        (["--objective", "beauty"], "one of completion"),
        (["--explore-share", "2"], "share from 0 to 1"),
        (["--workload", "changing:phases=[fine-wide]"], "expected kind-shape-arrivals"),
    ],
)
def test_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *words]) == 2
    assert message in capsys.readouterr().err
