"""Rates that are varied to learn from: what they are made of is drawn, and nothing else about a sequence changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.training.stream_variety import AS_IT_IS, smooth, varied
from dovetail.workloads.stream_source import open_stream


class Fixed:
    """Draws what it is told."""

    def __init__(self, *drawn: float) -> None:
        self._drawn = drawn

    def random(self) -> float:
        return 1.0

    def standard_normal(self, size: tuple[int, ...]) -> np.ndarray:
        return np.array(self._drawn).reshape(3, 1, 1) * np.ones(size)


@pytest.fixture
def work():
    return open_stream("nexmark-q3").sequence(86_400.0, SeedTree(1))


def spread_of(rate):
    return float(np.std(np.log(rate / smooth(rate, 60))))


def test_means_around_each_bin():
    assert smooth(np.array([[1.0, 2.0, 6.0, 3.0]]), 2).tolist() == [[1.0, 1.5, 4.0, 4.5]]
    assert smooth(np.array([[1.0, 2.0, 6.0]]), 1).tolist() == [[1.0, 2.0, 6.0]]
    assert smooth(np.array([[1.0, 2.0, 6.0]]), 100).tolist() == [[3.0, 3.0, 3.0]]


def test_nothing_drawn_changes_nothing(work):
    same = varied(work, 0.4, 3600.0, Fixed(0.0, 0.0, 0.0))
    np.testing.assert_allclose(same.rate, work.rate, rtol=0.02)
    assert varied(work, 0.0, 3600.0, np.random.default_rng(0)) is work


def test_each_number_does_its_part(work):
    more = varied(work, 0.4, 3600.0, Fixed(1.0, 0.0, 0.0))
    np.testing.assert_allclose(more.rate.mean(), np.exp(0.2) * work.rate.mean(), rtol=0.02)
    rougher = varied(work, 0.4, 3600.0, Fixed(0.0, 0.0, 1.0))
    assert spread_of(rougher.rate) == pytest.approx(np.exp(0.4) * spread_of(work.rate), rel=0.05)
    assert rougher.rate.mean() == pytest.approx(work.rate.mean(), rel=0.03)
    flatter = smooth(varied(work, 0.4, 3600.0, Fixed(0.0, -2.0, 0.0)).rate, 60)
    assert np.log(flatter).std() == pytest.approx(np.exp(-0.4) * np.log(smooth(work.rate, 60)).std(), rel=0.1)


def test_some_stay_as_they_are_and_only_rates_change(work):
    drawn = [varied(work, 0.4, 3600.0, np.random.default_rng(seed)) for seed in range(200)]
    assert sum(each is work for each in drawn) == pytest.approx(200 * AS_IT_IS, abs=30)
    other = next(each for each in drawn if each is not work)
    assert other.rate.shape == work.rate.shape and np.isfinite(other.rate).all() and (other.rate >= 0.0).all()
    changed = [name for name in type(work).__dataclass_fields__ if getattr(other, name) is not getattr(work, name)]
    assert changed == ["rate"]


def test_hours_without_records_stay_without():
    work = open_stream("nexmark-q1").sequence(7200.0, SeedTree(1))
    quiet = work.rate.copy()
    quiet[:, :60] = 0.0
    found = varied(replace(work, rate=quiet), 0.4, 1800.0, Fixed(1.0, 1.0, 1.0)).rate
    assert np.isfinite(found).all() and (found[:, :40] == 0.0).all() and (found[:, 70:] > 0.0).all()
