"""Workers and parameter servers as Ray actors: the same roles, the same promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")
pytest.importorskip("ray", reason="ray is not installed: pip install 'dovetail[ray]'")

import ray
from tests.execution.elastic.living import Trained, same_bits

from dovetail.execution.elastic.training_job import TrainingJob
from dovetail.execution.engines.ray_fleet import RayFleet

pytestmark = pytest.mark.xdist_group("ray")  # one cluster at a time


@pytest.fixture(scope="module")
def fleet() -> Iterator[RayFleet]:
    fleet = RayFleet()
    try:
        fleet.open()
        yield fleet
    finally:
        fleet.close()
        assert not ray.is_initialized()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_training_goes_on_through_changes_and_kills(fleet: RayFleet) -> None:
    trained = Trained(fleet, TrainingJob("mlp", 1, epochs=10_000, chunks=4, batches=20, learning_rate=0.01))
    first = trained.loss
    trained.slot(1, 2, 1.0)
    loss, before = trained.loss, trained.coordinator.snapshot
    assert loss < first
    assert same_bits(before, trained.change(2, 1))
    trained.slot(2, 1, 1.5, kill="worker")
    assert trained.coordinator.last.lost_workers == 1 and trained.coordinator.last.undone == 0
    done = trained.coordinator.snapshot.batches_done
    assert done > before.batches_done
    trained.slot(2, 1, 2.0, kill="server")
    assert trained.coordinator.last.lost_servers == 1 and trained.coordinator.last.undone > 0
    trained.slot(2, 1, 0.5)  # a new actor may have come too late for the last slot
    assert trained.coordinator.snapshot.batches_done > done
    assert trained.loss < loss
    trained.coordinator.end()
