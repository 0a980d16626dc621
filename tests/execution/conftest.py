"""Real engines for tests, in directories short enough for Unix sockets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="dvt-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
