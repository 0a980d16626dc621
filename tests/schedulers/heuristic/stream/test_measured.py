"""True rates and what comes to whom."""

import numpy as np
import pytest
from tests.schedulers.stream_views import info_of, view_of

from dovetail.schedulers.heuristic.stream.measured import Meter


def test_true_rates_and_targets_of_a_chain_held_up_by_its_end():
    """100 come, 60 get through; the middle one sends out two for each; the last is the bottleneck."""
    info = info_of("source", "map", "sink")
    view = view_of(
        info,
        [1, 2, 3],
        op_input_rate=[100.0, 60.0, 120.0],
        op_rate=[60.0, 60.0, 120.0],
        op_busy=[0.3, 0.5, 1.0],
    )
    measured = Meter(info).measure(view, 5)
    assert measured.true_rate.tolist() == pytest.approx([200.0, 60.0, 40.0])
    assert measured.target_rate.tolist() == pytest.approx([100.0, 100.0, 200.0])
    assert measured.demand.tolist() == pytest.approx([0.5, 100 / 60, 5.0])


def test_joins_take_what_all_parents_send():
    info = info_of("a", "b", "join", edges=[(0, 2), (1, 2)])
    view = view_of(info, [1, 1, 1], op_input_rate=[20.0, 40.0, 30.0], op_rate=[10.0, 20.0, 30.0], op_busy=0.5)
    assert Meter(info).measure(view, 5).target_rate.tolist() == pytest.approx([20.0, 40.0, 60.0])


def test_sums_weigh_snapshots_by_what_was_done_in_them():
    info = info_of("source")
    busy, rate = np.array([[0.0], [1.0]]), np.array([[0.0], [50.0]])  # it stood still in the first
    view = view_of(info, [1], rows=2, op_input_rate=40.0, op_rate=rate, op_busy=busy)
    measured = Meter(info).measure(view, 2)
    assert (measured.true_rate[0], measured.target_rate[0]) == (50.0, 40.0)


def test_what_was_not_measured_is_nan_and_so_is_all_behind_it():
    info = info_of("source", "map", "sink")
    view = view_of(info, [1, 1, 1], op_input_rate=[10.0, 0.0, 0.0], op_rate=[0.0, 0.0, 0.0])
    measured = Meter(info).measure(view, 5)
    assert np.isnan(measured.demand).all() and np.isnan(measured.target_rate[1:]).all()


@pytest.mark.parametrize(("window_s", "rows"), [(0.0, 5), (60.0, 1), (90.0, 2), (1e6, 7)])
def test_rows_of_a_window(window_s: float, rows: int):
    info = info_of("source")
    assert Meter(info).rows(view_of(info, [1], rows=7), window_s) == rows
