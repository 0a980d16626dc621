"""The example of an order of one's own runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpu_own_order.py"


def test_it_compares_the_new_order_with_two_that_are_there():
    result = subprocess.run([sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    found = re.findall(r"^(gpu/\S+) +([\d.]+) times .*, +([\d.]+) for one", result.stdout, re.MULTILINE)
    scores = {spec: (float(mean), float(tail)) for spec, mean, tail in found}
    assert list(scores) == [
        "gpu/patient+topology",
        "gpu/patient+pack:patience=3",
        "gpu/srtf+topology",
        "gpu/fifo+first-fit",
    ]
    assert all(1 < mean < tail for mean, tail in scores.values())
    assert scores["gpu/patient+topology"][0] < scores["gpu/fifo+first-fit"][0]
