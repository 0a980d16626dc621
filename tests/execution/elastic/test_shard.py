"""A parameter server on its own, and snapshots that are cut and joined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.errors import CheckpointError
from dovetail.execution.elastic.shard import Shard, ShardError, from_plain, to_plain
from dovetail.execution.elastic.snapshot import Part, Snapshot


def snapshot(size: int, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2, size)).astype(np.float32)
    return Snapshot(7, values[0], values[1], rng.integers(0, 9, 3))


def shard(momentum: float = 0.5) -> Shard:
    made = Shard()
    part = Part(4, 0, np.array([1.0, 2.0], np.float32), np.zeros(2, np.float32), np.zeros(2, np.int64))
    made.load(to_plain(part), 0.1, momentum)
    return made


def gradient(*values: float) -> bytes:
    return np.array(values, np.float32).tobytes()


def test_a_gradient_moves_the_parameters_by_momentum() -> None:
    server = shard()
    version, parameters = server.push(0, 0, 0, gradient(1.0, 0.0))
    assert version == 1
    np.testing.assert_allclose(np.frombuffer(parameters, np.float32), [0.9, 2.0], rtol=1e-6)
    _, parameters = server.push(0, 1, 1, gradient(1.0, 0.0))
    np.testing.assert_allclose(np.frombuffer(parameters, np.float32), [0.9 - 0.1 * 1.5, 2.0], rtol=1e-6)
    part, pushes, stale = server.export()
    assert from_plain(part).done.tolist() == [2, 0] and from_plain(part).low == 4
    assert (pushes, stale) == (2, 0)


def test_a_gradient_that_comes_twice_counts_once() -> None:
    server = shard()
    first = server.push(1, 0, 0, gradient(1.0, 1.0))
    assert server.push(1, 0, 0, gradient(1.0, 1.0)) == first
    assert server.pull(1)[:2] == (1, 1)


def test_a_gradient_too_early_is_refused() -> None:
    with pytest.raises(ShardError, match="given mini-batch 1, but 0 is the next"):
        shard().push(0, 1, 0, gradient(1.0, 1.0))


def test_staleness_is_the_number_of_gradients_in_between() -> None:
    server = shard()
    server.push(0, 0, 0, gradient(1.0, 1.0))
    server.push(1, 0, 0, gradient(1.0, 1.0))  # computed with the parameters of version 0
    assert server.export()[1:] == (2, 1)
    assert server.export()[1:] == (0, 0)


@given(size=st.integers(1, 50), servers=st.integers(1, 8), again=st.integers(1, 8))
def test_cutting_and_joining_changes_no_bit(size: int, servers: int, again: int) -> None:
    whole = snapshot(size)
    for count in (servers, again):
        parts = whole.split(count)
        assert len(parts) == count and sum(len(part.parameters) for part in parts) == size
        whole = Snapshot.merge([from_plain(to_plain(part)) for part in reversed(parts)])
    expected = snapshot(size)
    assert whole.parameters.tobytes() == expected.parameters.tobytes()
    assert whole.velocity.tobytes() == expected.velocity.tobytes()
    assert whole.done.tolist() == expected.done.tolist() and whole.version == expected.version


def test_a_mini_batch_counts_when_all_servers_have_it() -> None:
    first, second = snapshot(4).split(2)
    more = Part(second.low, 9, second.parameters, second.velocity, second.done + np.array([1, 0, 0]))
    assert Snapshot.merge([first, more]).done.tolist() == first.done.tolist()


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = snapshot(20)
    written.save(tmp_path / "job.safetensors")
    read = Snapshot.load(tmp_path / "job.safetensors")
    assert read.parameters.tobytes() == written.parameters.tobytes()
    assert read.velocity.tobytes() == written.velocity.tobytes()
    assert (read.version, read.done.tolist()) == (written.version, written.done.tolist())
    assert [path.name for path in tmp_path.iterdir()] == ["job.safetensors"]


def test_what_is_no_checkpoint_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"nothing")
    for name in ("bad", "missing"):
        with pytest.raises(CheckpointError, match=name):
            Snapshot.load(tmp_path / name)
