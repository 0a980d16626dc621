"""What every world and every bundled workload must do."""

from __future__ import annotations

import pytest

from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.testing import ReferenceDagWorld, check_workload, check_world
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import BUNDLED, open_source


def reference(workload: DagWorkload, options: DagOptions, seeds: SeedTree) -> ReferenceDagWorld:
    return ReferenceDagWorld(workload, options, seeds.child("durations").key(), seeds.child("failures").key())


@pytest.mark.parametrize("make", [DagWorld, reference])
def test_world(make) -> None:
    check_world(make)


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_bundled_workload(name: str) -> None:
    check_workload(open_source(name))
