"""The yardstick itself: records one by one, against formulas and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.testing.stream_records import Station, arrivals, pass_records


def test_arrivals_come_at_their_rate() -> None:
    found = arrivals([100.0, 0.0, 50.0], 10.0, np.random.default_rng(0))
    assert np.all(np.diff(found) >= 0)
    counts, _ = np.histogram(found, bins=[0, 10, 20, 30])
    assert counts[1] == 0
    np.testing.assert_allclose(counts[[0, 2]], [1000, 500], rtol=0.1)


def test_one_server() -> None:
    passed = pass_records([Station(1, 0.01)], [70.0] * 50, 20.0, np.random.default_rng(0))
    assert passed.mean_number[0] == pytest.approx(0.7 / 0.3, rel=0.06)
    assert passed.busy[0] == pytest.approx(0.7, rel=0.02)
    assert passed.blocked[0] == 0.0
    delay_s = passed.departure_s - passed.arrival_s
    assert np.nanmean(delay_s) == pytest.approx(0.01 / 0.3, rel=0.06)
    late = np.nanquantile(delay_s, 0.99)  # exponential
    assert late == pytest.approx(np.log(100) * 0.01 / 0.3, rel=0.1)


def test_a_buffer_is_never_overfull_and_holds_up() -> None:
    """Two stations of one server and room for one record, fed without end: an M/M/1 chain with blocking, whose rate is
    two thirds of a server's for equal servers (Hunt's formula for two stations without space between them)."""
    looks = np.arange(100.0, 500.0, 0.37).tolist()
    passed = pass_records(
        [Station(1, 0.01), Station(1, 0.01, 1)], [200.0] * 25, 20.0, np.random.default_rng(0), looks_s=looks
    )
    assert passed.number[:, 1].max() <= 1
    assert np.isfinite(passed.departure_s).sum() / 500.0 == pytest.approx(100.0 * 2 / 3, rel=0.02)
    assert passed.blocked[0] == pytest.approx(1 / 3, rel=0.04)


def test_records_are_kept() -> None:
    passed = pass_records(
        [Station(2, 0.02), Station(1, 0.02, 5)], [80.0] * 5, 10.0, np.random.default_rng(3), looks_s=[49.999]
    )
    left = np.isfinite(passed.departure_s).sum()
    assert len(passed.arrival_s) - left == pytest.approx(passed.number[0].sum(), abs=1)
