"""Real workers and parameter servers on this machine: they train, change in number, and die."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")

from tests.execution.elastic.living import Trained, is_alive, same_bits

from dovetail.core.errors import DovetailError
from dovetail.execution.elastic.calibration import as_table, calibrate
from dovetail.execution.elastic.fleet import Lost, Up
from dovetail.execution.elastic.training_job import TrainingJob
from dovetail.execution.engines.local_fleet import LocalFleet

pytestmark = pytest.mark.xdist_group("elastic")  # one nursery for all of them

LONG = TrainingJob("mlp", 1, epochs=10_000, chunks=4, batches=20, learning_rate=0.005)


@pytest.fixture(scope="module")
def fleet() -> Iterator[LocalFleet]:
    fleet = LocalFleet()
    try:
        fleet.open()
        yield fleet
    finally:
        fleet.close()


def poll_for(fleet: LocalFleet, kind: type, limit_s: float = 90.0) -> object:
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        for event in fleet.poll(0.1):
            if isinstance(event, kind):
                return event
    raise AssertionError(f"no {kind.__name__} within {limit_s} s")


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_loss_falls_while_workers_and_servers_come_and_go(fleet: LocalFleet, model: str) -> None:
    rate = {"mlp": 0.002, "cnn": 0.02}[model]
    trained = Trained(fleet, TrainingJob(model, 1, epochs=10_000, chunks=4, batches=20, learning_rate=rate))
    losses = [trained.loss]
    for workers, servers in ((1, 1), (3, 2), (2, 1), (4, 4)):
        trained.slot(workers, servers, 0.3)
        losses.append(trained.loss)
    trained.coordinator.end()
    assert losses[-1] < 0.5 * losses[0]
    assert all(later < 1.1 * earlier for earlier, later in pairwise(losses)), losses


def test_every_change_keeps_every_bit(fleet: LocalFleet) -> None:
    trained = Trained(fleet, LONG)
    trained.slot(2, 2, 0.2)
    before = trained.coordinator.snapshot
    assert before.batches_done > 0 and before.velocity.any()
    for workers, servers in ((3, 2), (1, 2), (1, 1), (4, 3), (2, 4), (0, 0), (1, 1)):
        after = trained.change(workers, servers)
        assert same_bits(before, after), (workers, servers)
    trained.slot(1, 1, 0.1)
    assert not same_bits(before, trained.coordinator.snapshot)  # so the comparison sees something
    trained.coordinator.end()


def test_each_mini_batch_is_counted_and_applied_once(fleet: LocalFleet) -> None:
    trained = Trained(fleet, TrainingJob("mlp", 2, epochs=40, chunks=3, batches=7))
    while not trained.coordinator.is_trained:
        trained.slot(3, 2, 0.2, kill="worker")
    trained.coordinator.end()
    snapshot = trained.coordinator.snapshot
    assert snapshot.done.tolist() == [280, 280, 280]
    assert snapshot.version == 840
    assert trained.coordinator.total.lost_workers > 0


def test_a_killed_worker_is_replaced_and_nothing_is_undone(fleet: LocalFleet) -> None:
    trained = Trained(fleet, LONG)
    trained.slot(2, 2, 0.2)
    loss, done = trained.loss, trained.coordinator.snapshot.batches_done
    trained.slot(2, 2, 0.5, kill="worker")
    assert trained.coordinator.last.lost_workers == 1 and trained.coordinator.last.undone == 0
    assert trained.coordinator.snapshot.batches_done > done
    assert len(trained.coordinator.worker_roles) == 2
    assert trained.loss < loss
    trained.coordinator.end()


def test_a_killed_server_goes_back_to_the_checkpoint(fleet: LocalFleet) -> None:
    trained = Trained(fleet, LONG)
    trained.slot(2, 2, 0.2)
    loss, done = trained.loss, trained.coordinator.snapshot.batches_done
    trained.slot(2, 2, 1.0, kill="server")
    last = trained.coordinator.last
    assert last.lost_servers == 1 and last.undone > 0
    assert done < trained.coordinator.snapshot.batches_done <= done + last.batches - last.undone
    assert trained.loss < loss
    trained.coordinator.end()


def test_training_waits_for_what_hangs_no_longer_than_it_must(fleet: LocalFleet) -> None:
    """A role that raises is lost, with the reason."""
    role = fleet.start("server", 0)
    assert poll_for(fleet, Up) == Up(role)
    fleet.call(role, "push", 0, 0, 0, b"")  # before `load`
    lost = poll_for(fleet, Lost)
    assert isinstance(lost, Lost) and lost.role == role and "push: AttributeError" in lost.why


def test_calibration_measures_and_fits(fleet: LocalFleet) -> None:
    found = calibrate(fleet, "mlp", 0.02, [(1, 1), (2, 1), (4, 1)], 0.4)
    speeds = [point.batches_per_s for point in found.points]
    assert 10 < speeds[0] <= 50  # 20 ms are slept in each
    assert speeds[2] > 2.0 * speeds[0]
    text = as_table([found])
    assert "20 ms of pretended GPU time" in text and "median error" in text
    assert [point["workers"] for point in found.to_json()["points"]] == [1, 2, 4]


def test_nothing_is_left_of_a_closed_fleet() -> None:
    fleet = LocalFleet()
    fleet.open()
    try:
        roles = [fleet.start("worker", 0), fleet.start("server", 0)]
        for _ in roles:
            poll_for(fleet, Up)
        pids = [fleet.pid(role) for role in roles]
        nursery = fleet._process.pid  # type: ignore[union-attr]
        folder = fleet._folder.name  # type: ignore[union-attr]
        assert all(map(is_alive, (*pids, nursery)))
    finally:
        fleet.close()
    assert not any(map(is_alive, (*pids, nursery)))
    assert not os.path.exists(folder)


def test_without_the_nursery_nothing_goes_on() -> None:
    fleet = LocalFleet()
    fleet.open()
    fleet.start("worker", 0)
    role = poll_for(fleet, Up).role  # type: ignore[attr-defined]
    pid = fleet.pid(role)
    os.kill(fleet._process.pid, 9)  # type: ignore[union-attr]
    try:
        with pytest.raises(DovetailError, match="the process that starts workers is gone"):
            poll_for(fleet, Lost)
        end_s = time.monotonic() + 10.0
        while is_alive(pid) and time.monotonic() < end_s:
            time.sleep(0.01)
        assert not is_alive(pid)
    finally:
        fleet.close()
