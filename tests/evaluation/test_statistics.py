"""Intervals: exact where the answer is known, deterministic, and covering as often as they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail.evaluation.statistics import (
    Interval,
    bootstrap_mean,
    crossed_difference,
    crossed_mean,
    mean_difference_pct,
    paired_difference,
    paired_difference_pct,
)


def test_constant_values_have_no_spread() -> None:
    assert bootstrap_mean([2.0] * 7) == Interval(2.0, 2.0, 2.0)
    assert paired_difference([3.0, 5.0, 9.0], [1.0, 3.0, 7.0]) == Interval(2.0, 2.0, 2.0)
    percent = paired_difference_pct([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert (percent.mean, percent.low, percent.high) == pytest.approx((100.0, 100.0, 100.0))


def test_one_value_gives_no_interval() -> None:
    alone = bootstrap_mean([4.0])
    assert alone.mean == 4.0 and not alone.known
    assert alone.as_json() == {"mean": 4.0, "ci95": [None, None]}
    assert math.isnan(paired_difference_pct([1.0], [2.0]).low)


def test_two_values_by_hand() -> None:
    # Resamples of {0, 1}: means 0, 1/2 and 1 with chances 1/4, 1/2, 1/4; both tails of 2.5 % are at the ends.
    assert bootstrap_mean([0.0, 1.0]) == Interval(0.5, 0.0, 1.0)
    assert bootstrap_mean([0.0, 1.0], level=0.4) == Interval(0.5, 0.5, 0.5)


def test_same_numbers_same_interval() -> None:
    values = np.random.default_rng(0).normal(size=20)
    assert bootstrap_mean(values) == bootstrap_mean(list(values))
    assert bootstrap_mean(values) != bootstrap_mean(values, seed=1)


def test_agrees_with_the_normal_interval_on_many_values() -> None:
    values = np.random.default_rng(1).normal(10.0, 2.0, size=2000)
    found = bootstrap_mean(values)
    half = 1.96 * values.std(ddof=1) / math.sqrt(values.size)
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_coverage_of_the_mean() -> None:
    """Over 400 experiments of 30 normal values, the 95 % interval holds the true mean about as often."""
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        found = bootstrap_mean(rng.normal(5.0, 1.0, size=30), resamples=1000)
        hits += found.low <= 5.0 <= found.high
    # The percentile bootstrap is a little narrow on 30 values: about 93.5 %; 3.5 standard errors each way.
    assert 0.90 <= hits / 400 <= 0.975


def test_pairing_takes_the_common_luck_out() -> None:
    rng = np.random.default_rng(3)
    luck = rng.normal(60.0, 20.0, size=20)
    ours, theirs = luck - 1.0 + rng.normal(0.0, 0.2, 20), luck
    paired = paired_difference(ours, theirs)
    assert paired.low < -1.0 < paired.high < 0.0
    alone = bootstrap_mean(ours)
    assert paired.high - paired.low < 0.05 * (alone.high - alone.low)
    percent = paired_difference_pct(ours, theirs)
    assert percent.mean == pytest.approx(100.0 * (ours.mean() / theirs.mean() - 1.0))
    assert percent.low < percent.mean < percent.high < 0.0


def test_the_mean_over_settings_counts_each_alike() -> None:
    small, large = ([9.0, 9.0, 9.0], [10.0, 10.0, 10.0]), ([2100.0, 2100.0, 2100.0], [2000.0, 2000.0, 2000.0])
    found = mean_difference_pct([small, large])
    assert found.mean == pytest.approx(-2.5) and found.low == pytest.approx(found.high)
    ours, theirs = [8.0, 11.0, 7.0], [10.0, 10.0, 10.0]
    assert mean_difference_pct([(ours, theirs)]) == paired_difference_pct(ours, theirs)
    with pytest.raises(ValueError, match="expected as many in every setting"):
        mean_difference_pct([small, ([1.0], [2.0])])


def test_networks_are_drawn_anew_like_sequences() -> None:
    """Where all that differs is the network, the interval is that over networks; likewise for sequences."""
    networks, sequences = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 2.0, 6.0])
    for values, alone in (
        (np.tile(networks[:, None], (1, 3)), networks),
        (np.tile(sequences, (4, 1)), sequences),
    ):
        found, expected = crossed_mean(values), bootstrap_mean(alone)
        assert found.mean == pytest.approx(expected.mean)
        assert found.low == pytest.approx(expected.low, abs=0.15) and found.high == pytest.approx(
            expected.high, abs=0.15
        )
    assert crossed_mean([[2.0, 2.0]] * 3) == Interval(2.0, 2.0, 2.0)
    assert not crossed_mean([[2.0]]).known and crossed_mean([[1.0], [2.0]]).known


def test_differences_of_networks_are_paired_by_sequence_alone() -> None:
    hard = np.array([0.0, 10.0, 20.0])
    ours, theirs = hard + np.array([[1.0], [2.0]]), hard
    found = crossed_difference(ours, theirs)
    assert (found.mean, found.low, found.high) == pytest.approx((1.5, 1.0, 2.0))
    back = crossed_difference(theirs, ours)
    assert (back.low, back.high) == pytest.approx((-2.0, -1.0))
    with pytest.raises(ValueError, match="3 sequences against 2"):
        crossed_difference(ours, [1.0, 2.0])
    with pytest.raises(ValueError, match="a row for each network"):
        crossed_mean(np.zeros((2, 0)))


def test_crossed_intervals_hold_what_they_claim_where_sequences_alone_do_not() -> None:
    rng, held, narrow = np.random.default_rng(0), 0, 0
    for _ in range(200):
        values = rng.normal(size=(8, 1)) + 0.3 * rng.normal(size=12)
        found, alone = crossed_mean(values, resamples=500), bootstrap_mean(values.mean(axis=0), resamples=500)
        held += found.low <= 0.0 <= found.high
        narrow += alone.low <= 0.0 <= alone.high
    assert held > 170 and narrow < 120


def test_large_samples_are_drawn_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(4).normal(size=50)
    whole = bootstrap_mean(values, resamples=500)
    monkeypatch.setattr("dovetail.evaluation.statistics._AT_ONCE", 777)
    assert bootstrap_mean(values, resamples=500) == whole


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="expected at least one number"):
        bootstrap_mean([])
    with pytest.raises(ValueError, match="3 values against 2"):
        paired_difference([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="expected a share"):
        bootstrap_mean([1, 2], level=95)
