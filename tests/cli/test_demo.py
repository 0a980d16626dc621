from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from dovetail.cli import demo, main
from dovetail.records import read_records

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A demo of two short sequences, and an empty place to run it in."""
    monkeypatch.setattr(demo, "QUICK_SEEDS", 2)
    monkeypatch.setattr(demo, "JOBS", 3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_compares_reports_and_says_what_to_try(tiny: Path, capsys: Captured) -> None:
    assert main(["demo", "--quick"]) == 0
    found = capsys.readouterr()
    page = tiny / "dovetail-demo" / "report.html"
    assert str(page) in found.out.splitlines()
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(demo.shown()) == len(read_records(tiny / "dovetail-demo").runs) == 15
    assert all(f"{name} " in found.out for name in demo.shown())
    commands = [line.strip() for line in found.out.splitlines() if line.startswith("  ") and "dovetail " in line]
    assert len(commands) == 3
    explain = shlex.split(commands[0])
    assert main(explain[explain.index("explain") :]) == 0


def test_again_starts_over(tiny: Path, capsys: Captured) -> None:
    for _ in range(2):
        assert main(["demo", "--quick", "--out", "x"]) == 0
        assert "there already" not in capsys.readouterr().err


def test_foreign_directories_are_left_alone(tiny: Path, capsys: Captured) -> None:
    (tiny / "dovetail-demo").mkdir()
    (tiny / "dovetail-demo" / "mine.txt").write_text("kept")
    assert main(["demo", "--quick"]) == 2
    assert "holds no manifest.json" in capsys.readouterr().err
    small = ["--workload", "layered:dags=6", "--jobs", "2", "--seeds", "1", "--schedulers", "dag/fair"]
    assert main(["compare", "dag", *small, "--out", "x"]) == 0
    assert main(["demo", "--quick", "--out", "x"]) == 2
    assert len(read_records(tiny / "x").summary) == 1
