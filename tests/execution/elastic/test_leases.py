"""Who trains which chunk next."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.execution.elastic.leases import FIRST_BATCHES, LEASE_S, Leases
from dovetail.execution.elastic.training_job import TrainingJob

JOB = TrainingJob("mlp", 0, epochs=10, chunks=3, batches=10)  # 100 mini-batches of each chunk


def leases(*done: int) -> Leases:
    return Leases(JOB, np.array(done, dtype=np.int64))


def test_the_chunk_with_the_most_work_left_comes_first_and_has_one_worker() -> None:
    found = leases(50, 10, 90)
    assert [lease and lease[0] for lease in (found.take(worker, 2) for worker in range(4))] == [1, 0, 2, None]
    found.lose(1)
    assert found.take(7, 2) == (0, FIRST_BATCHES)
    assert found.is_out and found.taken == {0, 1, 2}


def test_a_lease_lasts_as_long_as_it_should() -> None:
    found = leases(0, 0, 0)
    chunk, batches = found.take(0, 1) or (-1, 0)
    found.give_back(chunk, batches, batches, batches * 0.01)
    assert (found.take(0, 1) or (-1, 0))[1] == pytest.approx(LEASE_S / 0.01, abs=1)


def test_towards_the_end_leases_are_short() -> None:
    found = leases(100, 100, 94)
    assert found.take(0, 1) == (2, 3)
    found.give_back(2, 97, 3, 0.001)
    assert found.left == 3 and found.take(0, 1) == (2, 2)
    found.give_back(2, 99, 2, 0.001)
    assert found.take(0, 1) == (2, 1)
    found.give_back(2, 100, 1, 0.001)
    assert found.left == 0 and found.take(0, 1) is None and not found.is_out


def test_what_is_not_known_is_not_counted() -> None:
    found = leases(0, 0, 0)
    chunk, _ = found.take(0, 1) or (-1, 0)
    found.give_back(chunk, -1, 3, 0.1)
    assert found.left == 300
    found.restart(np.array([5, 5, 5]))
    assert found.left == 285
