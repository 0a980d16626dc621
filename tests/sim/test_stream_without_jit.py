"""The stream kernels are ordinary Python: with the JIT switched off they do the same, only slowly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def outcome(disable_jit: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("stream_without_jit.py"))],
        env={**os.environ, "NUMBA_DISABLE_JIT": disable_jit, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_same_without_the_jit() -> None:
    assert outcome("1") == outcome("0")
