"""Compiled operations do what their twins of plain numpy do."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.schedulers.learned.stream.arrays import NUMPY, Slots
from dovetail.schedulers.learned.stream.compiled import COMPILED


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("size", [(4, 6), (2, 3, 5, 6), (0, 6)])
def test_dense(rng, size):
    x, weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in (size, (6, 9), (9,)))
    before = x.copy()
    found = COMPILED.dense(x, weight, bias)
    assert found.shape == (*size[:-1], 9) and found.dtype == np.float32
    np.testing.assert_allclose(found, NUMPY.dense(x, weight, bias), atol=1e-6)
    assert (x == before).all() and (found >= 0.0).all()


def test_dense_takes_columns_that_come_first_in_memory(rng):
    """As features do."""
    x = rng.normal(size=(6, 3, 4)).astype(np.float32).transpose(1, 2, 0)
    weight, bias = rng.normal(size=(6, 2)).astype(np.float32), np.zeros(2, np.float32)
    np.testing.assert_allclose(COMPILED.dense(x[None], weight, bias)[0], np.maximum(x @ weight, 0.0), atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("whose", [(), (0, 0, 2), (2, 1, 2, 2)])
def test_joined_and_pooled(rng, count, whose):
    index = np.array(whose, np.int64)
    nodes = rng.normal(size=(3 + len(whose), 2, count, 8)).astype(np.float32)
    keep = np.array([1.3], np.float32)
    for name, words in (("joined", (keep, index)), ("pooled", (index,))):
        found, expected = (getattr(ops, name)(nodes, *words) for ops in (COMPILED, NUMPY))
        assert found.shape == expected.shape and found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=name)


def test_joined_by_hand():
    """Two operators in two snapshots; the third node is the neighbour of the first."""
    nodes = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]], np.float32)[:, None, :, None]
    for ops in (NUMPY, COMPILED):
        found = ops.joined(nodes, np.array([2.0], np.float32), np.array([0]))
        assert found[:, 0, :, 0].tolist() == [[2 + 10 + 4, 20 + 1 + 40], [4 + 20, 40 + 2], [8 + 1, 80 + 10]]
        assert ops.pooled(nodes, np.array([0]))[:, 0, 0].tolist() == [(11 + 44) / 2, 11]


def test_weighed(rng):
    x = rng.normal(size=(2, 5, 3, 8)).astype(np.float32)
    share = rng.random(size=(3, 2, 5)).astype(np.float32).transpose(1, 2, 0)  # not one after another in memory
    found = COMPILED.weighed(x, share)
    assert found.shape == (2, 3, 8) and found.dtype == np.float32
    np.testing.assert_allclose(found, NUMPY.weighed(x, share), atol=1e-6)
    np.testing.assert_allclose(found, np.einsum("wloc,wlo->woc", x, share), atol=1e-6)


@pytest.mark.parametrize("noisy", [True, False])
def test_gathered(rng, noisy):
    """Among three operators, the first near two, of whom one is taken, or both; the second near none."""
    near, there = np.array([[1, 2], [1, 1], [0, 2]]), np.array([[1, 1], [0, 0], [1, 0]], np.float32)
    projected, scores = (rng.normal(size=(2, 6, 3, *more)).astype(np.float32) for more in ((4,), ()))
    chosen = np.sort(rng.integers(6, size=(2, 3, 3)), axis=1)
    gumbel = rng.normal(size=(2, 3, 3, 2)).astype(np.float32) if noisy else None
    for slots in (Slots(np.array([0, 2]), np.array([0, 0])), Slots(np.array([0, 0, 2]), np.array([0, 1, 0]))):
        words = (projected, chosen, scores, gumbel, near, there, slots)
        for found, expected in zip(COMPILED.gathered(*words), NUMPY.gathered(*words), strict=True):
            assert found.shape == expected.shape and found.dtype == expected.dtype
            assert (found == expected).all()
