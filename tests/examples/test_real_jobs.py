"""The examples of real jobs run as they stand, on an engine of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(name: str, *words: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_word_count(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("the cat and the dog\n" * number)
    first, *words = output_of("word_count.py", str(tmp_path / "*.txt"), "1")
    assert first == "50 words, 4 different ones, in 5 files"
    assert [word.split() for word in words] == [["20", "the"]]


def test_hyper_parameter_sweep() -> None:
    first, second = output_of("hyper_parameter_sweep.py", "4", "6")
    assert first.startswith("24 settings tried; best: degree ")
    assert second.startswith("mean squared error 0.")


def test_duckdb_aggregation() -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'dovetail[examples]'")
    assert output_of("duckdb_aggregation.py", "3", "1000")[0] == "3,000 sales in 3 files"
