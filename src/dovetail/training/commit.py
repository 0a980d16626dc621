"""Which code a network was trained with."""

from __future__ import annotations

import subprocess
from pathlib import Path


def current_commit() -> str | None:
    """The commit of the code that trains, if it is run from a clone."""
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
