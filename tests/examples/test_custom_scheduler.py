"""The example of a scheduler of one's own runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_scheduler.py"


def test_it_compares_the_new_scheduler_with_two_heuristics():
    result = subprocess.run([sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    scores = {spec: float(seconds) for spec, seconds, _ in map(str.split, result.stdout.splitlines())}
    assert list(scores) == ["dag/mine", "dag/mine:share=0.25", "dag/fair", "dag/fair-spill"]
    assert scores["dag/mine:share=0.25"] < scores["dag/fair"]
