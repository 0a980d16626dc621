"""Every experiment answers `--help`, and the short one runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SCRIPTS = sorted(path.name for path in EXPERIMENTS.glob("*.py") if path.name != "commands.py")


def start(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXPERIMENTS / name), *words], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_help(name: str) -> None:
    done = start(name, "--help")
    keeps = "--out" if name.startswith("train_") else "--write"  # a network with its card, or a page of results
    assert done.returncode == 0 and keeps in done.stdout
    assert name in (EXPERIMENTS / "README.md").read_text()


def test_knowing_less_costs_something() -> None:
    done = start("missing_information.py", "--seeds", "3")
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("|")][2:]
    assert [row[1].strip() for row in rows] == ["everything", "no profiles", "no durations"]
    jct_s = [float(row[2]) for row in rows]
    assert jct_s[0] < jct_s[2]
