"""The example of an autoscaler of one's own runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "stream_own_autoscaler.py"


def test_it_compares_the_new_autoscaler_with_those_that_are_there():
    result = subprocess.run([sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    found = re.findall(r"^(stream/\S+) +reward +(-?[\d.]+) .* (\d+) rescales", result.stdout, re.MULTILINE)
    scores = {spec: (float(reward), int(rescales)) for spec, reward, rescales in found}
    assert list(scores) == [
        "stream/peak",
        "stream/peak:busy=0.8",
        "stream/ds2",
        "stream/flink",
        "stream/hpa",
        "stream/fixed",
    ]
    assert scores["stream/peak"][0] == max(reward for reward, _ in scores.values())
    assert scores["stream/fixed"][1] == 0
