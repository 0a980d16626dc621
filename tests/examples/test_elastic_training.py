"""The example of elastic training runs as it stands, and learns."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")

pytestmark = pytest.mark.xdist_group("elastic")

EXAMPLE = Path(__file__).parents[2] / "examples" / "elastic_training.py"


def test_it_trains_through_changes_and_kills():
    command = [sys.executable, "-W", "error", str(EXAMPLE), "0.4"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", result.stdout)]
    assert len(losses) == 8
    assert losses[-1] < 0.6 * losses[0]
    assert result.stdout.count("was killed") == 2
