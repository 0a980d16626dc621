"""A coordinator over a fleet in memory: whatever comes and goes, every gradient is applied exactly once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execution.elastic.memory_fleet import PARAMETERS, MemoryFleet, Unit

from dovetail.execution.elastic import snapshot as snapshot_module
from dovetail.execution.elastic import trainer as trainer_module
from dovetail.execution.elastic.coordinator import MAX_LOSSES, SILENCE_S, Coordinator, TrainingFailed
from dovetail.execution.elastic.snapshot import Snapshot
from dovetail.execution.elastic.training_job import TrainingJob

JOB = TrainingJob("mlp", 0, epochs=3, chunks=3, batches=4, batch_size=1, learning_rate=1.0, momentum=0.0)
FAR_S = 1e9


@pytest.fixture(autouse=True)
def unit_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_module, "Network", Unit)
    monkeypatch.setattr(snapshot_module, "Network", Unit)


def go_on(fleet: MemoryFleet, coordinator: Coordinator, condition: Callable[[], bool], steps: int = 2_000) -> None:
    for _ in range(steps):
        if condition():
            return
        for event in fleet.poll(0.0):
            coordinator.handle(event, 0.0)
    raise AssertionError("it does not get there")


def halt(fleet: MemoryFleet, coordinator: Coordinator) -> None:
    coordinator.halt(0.0)
    go_on(fleet, coordinator, lambda: coordinator.is_halted)


def stand(fleet: MemoryFleet, coordinator: Coordinator, workers: list[int], servers: list[int]) -> None:
    coordinator.stand(workers, servers, 0.0)
    go_on(fleet, coordinator, lambda: coordinator.is_standing)


def check_applied_once(snapshot: Snapshot) -> None:
    """Every parameter was given one gradient for each mini-batch that is counted, no more and no less."""
    np.testing.assert_array_equal(snapshot.parameters, -np.full(PARAMETERS, snapshot.batches_done, np.float32))


def test_all_mini_batches_are_trained_once() -> None:
    fleet, kept = MemoryFleet(), []
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet, kept.append)
    stand(fleet, coordinator, [0, 0, 1], [5, 6])
    assert sorted(fleet.kinds.values()) == ["server", "server", "worker", "worker", "worker"]
    coordinator.train(0.0, FAR_S)
    go_on(fleet, coordinator, lambda: coordinator.is_trained)
    halt(fleet, coordinator)
    assert coordinator.snapshot.done.tolist() == [12, 12, 12]
    check_applied_once(coordinator.snapshot)
    assert coordinator.last.batches == 36 and coordinator.last.loss == 36.0
    assert kept == [coordinator.snapshot]
    coordinator.end()
    assert not fleet.roles


def test_roles_stay_where_they_are_wanted() -> None:
    fleet = MemoryFleet()
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0, 0, 1], [5])
    before = set(fleet.roles)
    stand(fleet, coordinator, [0, 2], [5])
    stayed = before & set(fleet.roles)
    assert sorted((fleet.kinds[role], fleet.hosts[role]) for role in stayed) == [("server", 5), ("worker", 0)]
    assert sorted(fleet.hosts[role] for role in fleet.roles) == [0, 2, 5]


def test_a_job_may_have_nothing_and_come_back() -> None:
    fleet = MemoryFleet()
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0], [5, 5])
    coordinator.train(0.0, FAR_S)
    go_on(fleet, coordinator, lambda: coordinator.batches_known > 0)
    halt(fleet, coordinator)
    done = coordinator.snapshot.batches_done
    assert 0 < done < 36
    stand(fleet, coordinator, [], [])
    assert not fleet.roles
    stand(fleet, coordinator, [3], [7])
    coordinator.train(0.0, FAR_S)
    go_on(fleet, coordinator, lambda: coordinator.is_trained)
    halt(fleet, coordinator)
    check_applied_once(coordinator.snapshot)
    assert coordinator.snapshot.batches_done == 36


def test_a_worker_that_dies_between_two_servers() -> None:
    """One server has its gradient, the other has not; and the number of servers changes right after."""
    fleet = MemoryFleet()
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0], [5, 5])
    coordinator.train(0.0, FAR_S)
    fleet.requests_left = 2 + 2 + 1  # pulls, a whole mini-batch, and half of one
    go_on(fleet, coordinator, lambda: fleet.requests_left < 0)
    halt(fleet, coordinator)
    assert coordinator.last.lost_workers == 1
    assert coordinator.snapshot.batches_done == 2
    check_applied_once(coordinator.snapshot)
    stand(fleet, coordinator, [0], [5, 5, 5])
    coordinator.train(0.0, FAR_S)
    go_on(fleet, coordinator, lambda: coordinator.is_trained)
    halt(fleet, coordinator)
    check_applied_once(coordinator.snapshot)


def test_after_the_loss_of_a_server_all_go_back_to_the_snapshot() -> None:
    fleet = MemoryFleet()
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0, 0], [5, 5])
    coordinator.train(0.0, FAR_S)
    go_on(fleet, coordinator, lambda: coordinator.batches_known > 0)
    fleet.kill(coordinator.server_roles[0], "on purpose")
    go_on(fleet, coordinator, lambda: coordinator.is_trained)
    halt(fleet, coordinator)
    assert coordinator.last.lost_servers == 1
    assert coordinator.last.undone > 0
    assert coordinator.last.batches > 36
    assert coordinator.snapshot.batches_done == 36
    check_applied_once(coordinator.snapshot)


def test_a_worker_that_does_not_answer_is_killed_and_replaced() -> None:
    fleet = MemoryFleet()
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0], [5])
    (worker,) = coordinator.worker_roles
    coordinator.train(0.0, FAR_S)
    coordinator.on_time(SILENCE_S - 1.0)
    assert worker in fleet.roles
    coordinator.on_time(SILENCE_S + 10.0)
    assert worker not in fleet.roles
    go_on(fleet, coordinator, lambda: coordinator.is_trained)


def test_a_job_whose_workers_always_die_is_given_up() -> None:
    fleet = MemoryFleet()
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0], [5])
    coordinator.train(0.0, FAR_S)
    with pytest.raises(TrainingFailed, match=f"more than {MAX_LOSSES}"):
        for _ in range(MAX_LOSSES + 1):
            (worker,) = coordinator.worker_roles
            fleet.kill(worker, "on purpose")
            go_on(fleet, coordinator, lambda worker=worker: worker not in coordinator.worker_roles)


HOSTS = st.lists(st.integers(0, 1), min_size=1, max_size=3)
SLOTS = st.lists(
    st.tuples(HOSTS, HOSTS, st.integers(0, 60), st.sampled_from(["", "worker", "server", "push"]), st.integers(0, 30)),
    max_size=6,
)


@given(slots=SLOTS, seed=st.integers(0, 2**32))
def test_counts_and_parameters_agree_whatever_happens(
    slots: list[tuple[list[int], list[int], int, str, int]], seed: int
) -> None:
    """Workers and servers change and die at any moment; each gradient is in every parameter once."""
    fleet = MemoryFleet(seed)
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    for workers, servers, steps, kill, when in slots:
        before = coordinator.snapshot.done
        stand(fleet, coordinator, workers, servers)
        coordinator.train(0.0, FAR_S)
        for step in range(steps):
            if step == when and kill == "push":
                fleet.requests_left = when % 10
            elif step == when and kill:
                victims = coordinator.worker_roles if kill == "worker" else coordinator.server_roles
                fleet.kill(victims[0], "on purpose") if victims else None
            for event in fleet.poll(0.0):
                coordinator.handle(event, 0.0)
        fleet.requests_left = -1
        halt(fleet, coordinator)
        check_applied_once(coordinator.snapshot)
        assert (coordinator.snapshot.done >= before).all()
    stand(fleet, coordinator, [0], [0])
    coordinator.train(0.0, FAR_S)
    go_on(fleet, coordinator, lambda: coordinator.is_trained)
    halt(fleet, coordinator)
    assert coordinator.snapshot.batches_done == JOB.total_batches
    check_applied_once(coordinator.snapshot)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32),
    kills=st.lists(st.tuples(st.sampled_from(["worker", "server", "push"]), st.integers(0, 20)), max_size=6),
)
def test_within_a_slot_it_always_gets_to_the_end(seed: int, kills: list[tuple[str, int]]) -> None:
    """Several are lost in one slot, one soon after the other; what is said to be complete is complete."""
    fleet = MemoryFleet(seed)
    coordinator = Coordinator(JOB, Snapshot.first(JOB), fleet)
    stand(fleet, coordinator, [0, 0, 1], [0, 1])
    coordinator.train(0.0, FAR_S)
    for kill, steps in kills:
        for _ in range(steps):
            for event in fleet.poll(0.0):
                coordinator.handle(event, 0.0)
        if kill == "push":
            fleet.requests_left = steps
        else:
            victims = coordinator.worker_roles if kill == "worker" else coordinator.server_roles
            fleet.kill(victims[steps % len(victims)], "on purpose")
    fleet.requests_left = -1
    go_on(fleet, coordinator, lambda: not fleet.has_losses)
    go_on(fleet, coordinator, lambda: coordinator.is_trained)
    halt(fleet, coordinator)
    assert coordinator.last.lost_workers + coordinator.last.lost_servers <= len(kills)  # none is lost by mistake
    assert coordinator.snapshot.batches_done == JOB.total_batches
    check_applied_once(coordinator.snapshot)
