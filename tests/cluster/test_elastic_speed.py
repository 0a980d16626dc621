import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.cluster.elastic_speed import TERMS, SpeedModel, SpeedPoint, fit_speed, held_out_error
from dovetail.cluster.elastic_speed_file import read_speeds
from dovetail.core.errors import DovetailError

GRID = [(workers, servers) for workers in (1, 2, 4, 8) for servers in (1, 2, 4)]


def measured(model, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return [SpeedPoint(w, p, float(model.batches_per_s(w, p)) * float(np.exp(noise * rng.normal()))) for w, p in GRID]


def test_a_step_by_hand():
    sync = SpeedModel("sync", (8.0, 1.0, 2.0, 3.0, 0.5, 0.25))
    assert sync.step_s(2, 4) == pytest.approx(8 / 2 + 1 + 2 / 4 + 3 * 2 / 4 + 0.5 * 2 + 0.25 * 4)
    assert sync.batches_per_s(2, 4) == pytest.approx(1 / sync.step_s(2, 4))
    assert sync.worker_s(2, 4) == pytest.approx(2 * sync.step_s(2, 4))
    plain = SpeedModel("async", (1.0, 2.0, 3.0, 0.5, 0.25))
    assert plain.step_s(2, 4) == pytest.approx(1 + 2 / 4 + 3 * 2 / 4 + 0.5 * 2 + 0.25 * 4)
    assert plain.batches_per_s(2, 4) == pytest.approx(2 / plain.step_s(2, 4))
    assert plain.worker_s(2, 4) == pytest.approx(float(plain.step_s(2, 4)))


def test_elementwise():
    model = SpeedModel("async", (1.0, 0.0, 0.0, 0.0, 0.0))
    assert model.batches_per_s(np.array([1.0, 2.0, 3.0]), 1.0).tolist() == [1, 2, 3]


@pytest.mark.parametrize("mode", TERMS)
def test_speeds_without_noise_are_fitted_exactly(mode):
    model = SpeedModel(mode, (2.0, 1.0, 0.5, 0.3, 0.1, 0.05)[-len(TERMS[mode]) :])
    fit = fit_speed(mode, measured(model))
    assert fit.model.coefficients == pytest.approx(model.coefficients, abs=1e-6)
    assert fit.points == len(GRID)
    assert (fit.median_error, fit.p90_error) == pytest.approx((0, 0), abs=1e-6)
    assert fit.r_squared == pytest.approx(1)


def test_with_noise_no_coefficient_is_negative_and_the_error_is_that_of_the_noise():
    fit = fit_speed("sync", measured(SpeedModel("sync", (2.0, 0.0, 0.0, 0.3, 0.0, 0.0)), noise=0.1))
    assert min(fit.model.coefficients) >= 0
    assert 0.01 < fit.median_error < 0.15
    assert fit.median_error < fit.p90_error


def test_what_was_left_out_of_the_fit_is_predicted_worse():
    """Exactly without noise; with noise and as many coefficients as measurements the fit's own error says nothing."""
    model = SpeedModel("async", (1.0, 0.5, 0.3, 0.1, 0.05))
    assert held_out_error("async", measured(model)) == pytest.approx(0, abs=1e-6)
    noisy = measured(model, noise=0.1)
    few = [point for point in noisy if (point.workers, point.servers) in {(1, 1), (2, 1), (4, 1), (4, 2), (8, 4)}]
    assert held_out_error("async", few) > 2 * fit_speed("async", few).median_error
    assert np.isnan(held_out_error("async", noisy[:2]))


def test_too_few_or_impossible_measurements_are_refused():
    with pytest.raises(DovetailError, match="at least two"):
        fit_speed("sync", [SpeedPoint(1, 1, 2.0), SpeedPoint(1, 1, 2.1)])
    with pytest.raises(DovetailError, match="1 measured speeds are without"):
        fit_speed("sync", [SpeedPoint(1, 1, 2.0), SpeedPoint(2, 1, 0.0)])


@needs_data("elastic")
def test_the_published_measurements_are_fitted_well():
    speeds = read_speeds(DATA / "elastic" / "config_speed.txt")
    assert len(speeds.points) == 8
    assert speeds.left_out == 10
    assert sum(map(len, speeds.points.values())) == 794
    for (_, mode, _), points in speeds.points.items():
        fit = fit_speed(mode, points)
        assert fit.median_error < 0.07
        assert fit.p90_error < 0.20
        assert fit.r_squared > 0.9
        assert fit.median_error < held_out_error(mode, points) < 0.08
