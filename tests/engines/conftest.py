"""Engines that are services of their own.  `make test-engines` runs these; `make test` does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engines import virtual_flink
from tests.engines.virtual_flink import VirtualFlink
from tests.engines.virtual_slurm import VirtualSlurm, why_not


@pytest.fixture
def slurm() -> Iterator[VirtualSlurm]:
    """Three nodes with four GPUs each; ended whatever happens."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    cluster = VirtualSlurm()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def flink() -> Iterator[VirtualFlink]:
    """One cluster with eight slots for all tests of a process: it takes long to start."""
    reason = virtual_flink.why_not()
    if reason:
        pytest.skip(reason)
    cluster = VirtualFlink()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
