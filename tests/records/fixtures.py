"""Fixtures that several folders of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.records.synthetic import write_records


@pytest.fixture(scope="session")
def shared_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record directory that tests only read."""
    return write_records(tmp_path_factory.mktemp("records") / "toy", seeds=2, num_jobs=8, executors=12)
