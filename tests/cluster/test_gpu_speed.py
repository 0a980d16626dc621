import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.cluster.gpu import GPU_TYPES, TYPE_INDEX
from dovetail.cluster.gpu_speed import CPU_KIND, HOST_RESOURCES, default_speeds
from dovetail.cluster.gpu_speed_file import read_measured
from dovetail.cluster.gpu_speed_fit import BUSY_SPEED, SHARED_SPEED, Measured, fit_speeds
from dovetail.core.errors import DovetailError, UnknownName

V100, P100, K80, A100 = (TYPE_INDEX[name] for name in ("V100", "P100", "K80", "A100"))


def pairs_of(sensitivity, pressure):
    """Measurements of a world that is exactly of the model's form, all kinds as fast as memory alone."""
    names = [f"k{row}" for row in range(len(sensitivity))]
    alone = {(name, V100, 1, False): 10.0 for name in names}
    slow = 1 + np.array(sensitivity) @ np.array(pressure).T
    pairs = {(one, other, V100): 10.0 / slow[i, j] for i, one in enumerate(names) for j, other in enumerate(names)}
    return Measured(alone, pairs), slow


def test_the_default_model_is_complete():
    model = default_speeds()
    kinds, types = len(model.kind_name), len(GPU_TYPES)
    assert model.speed.shape == (kinds, types)
    assert (model.speed > 0).all()
    assert (model.speed[:, 0] == 1).all()
    assert model.host_pressure.shape == model.host_sensitivity.shape == (kinds, len(HOST_RESOURCES))
    assert model.device_pressure.shape == model.device_sensitivity.shape
    for table in (model.network, model.host_pressure, model.device_pressure, model.device_sensitivity):
        assert (table >= 0).all()
    cpu = model.kind_name.index(CPU_KIND)
    assert (model.speed[cpu] == 1).all()
    assert not model.device_pressure[cpu].any() and not model.device_sensitivity[cpu].any()
    assert not model.host_pressure[cpu].any() and model.network[cpu] == 0


def test_rows_are_taken_by_name():
    model = default_speeds()
    part = model.rows(("lm-b5", CPU_KIND))
    assert part.kind_name == ("lm-b5", CPU_KIND)
    np.testing.assert_array_equal(part.speed[0], model.speed[model.kind_name.index("lm-b5")])
    with pytest.raises(UnknownName, match="did you mean 'lm-b5'"):
        model.rows(("lm-b6",))


def test_pairs_of_the_models_own_form_are_recovered():
    rng = np.random.default_rng(0)
    sensitivity, pressure = rng.uniform(0, 1.5, (2, 12, 2))
    measured, slow = pairs_of(sensitivity, pressure)
    fit = fit_speeds(measured)
    predicted = 1 + fit.model.device_sensitivity[:12] @ fit.model.device_pressure[:12].T
    assert np.abs(predicted / slow - 1).max() < 0.05
    by_rank = {error.rank: error for error in fit.pair_errors}
    assert by_rank[2].held_out_median < by_rank[1].held_out_median / 2
    assert fit.pairs == 144


def test_speeds_that_were_measured_stand_and_others_follow_memory():
    ratio = np.array([gpu.memory_gb_s for gpu in GPU_TYPES]) / GPU_TYPES[0].memory_gb_s
    alone = {("gpu-bound", t, 1, False): 5.0 * ratio[t] for t in (V100, P100, K80)}
    alone |= {("host-bound", t, 1, False): 7.0 for t in (V100, P100)}
    alone |= {("half", t, 1, False): 3.0 * ratio[t] ** 0.5 for t in (P100, K80)}  # never measured on the reference
    fit = fit_speeds(Measured(alone, {}))
    np.testing.assert_allclose(fit.elasticity, [1, 0, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(fit.model.speed[0], ratio)
    np.testing.assert_allclose(fit.model.speed[1], 1.0)
    np.testing.assert_allclose(fit.model.speed[2], ratio**0.5)
    assert fit.notes  # pairs are missing


def test_the_network_is_that_of_workers_apart():
    alone = {("a", V100, 1, False): 1.0, ("b", V100, 1, False): 1.0, ("c", V100, 1, False): 1.0}
    for workers in (2, 4, 8):
        alone["a", V100, workers, False] = 10.0
        alone["a", V100, workers, True] = 10.0 / (1 + 2 * (1 - 1 / workers))
        alone["b", V100, workers, False] = 10.0
        alone["b", V100, workers, True] = 11.0  # faster apart: as if together
    fit = fit_speeds(Measured(alone, {}))
    np.testing.assert_allclose(fit.model.network, [2, 0, 1, 0], atol=0.01)  # c: the median of the others
    assert fit.apart == 6 and fit.apart_p90_error < 0.01


def test_nothing_measured():
    with pytest.raises(DovetailError, match="at least one"):
        fit_speeds(Measured({}, {}))
    with pytest.raises(DovetailError, match="one worker alone"):
        fit_speeds(Measured({("a", V100, 2, False): 1.0}, {}))


@needs_data("gpu-throughputs")
def test_the_shipped_numbers_are_those_of_the_published_measurements():
    """`experiments/gpu_speeds.py` prints the same; here is held what docs/gpu-model.md says of it."""
    fit = fit_speeds(read_measured(DATA / "gpu-throughputs" / "simulation_throughputs.json"))
    shipped = default_speeds()
    assert fit.model.kind_name == shipped.kind_name
    np.testing.assert_allclose(fit.model.speed, shipped.speed, rtol=1e-3)
    np.testing.assert_allclose(fit.model.network, shipped.network, rtol=1e-3)
    np.testing.assert_allclose(fit.model.host_pressure, shipped.host_pressure, rtol=1e-3)
    slow, shipped_slow = (m.device_sensitivity @ m.device_pressure.T for m in (fit.model, shipped))
    np.testing.assert_allclose(1 + slow, 1 + shipped_slow, rtol=1e-3)
    chosen = next(error for error in fit.pair_errors if error.rank == shipped.device_pressure.shape[1])
    assert fit.pairs == 636
    assert chosen.median < 0.05 and chosen.held_out_median < 0.08
    assert fit.shared_speed == pytest.approx(SHARED_SPEED, abs=0.002)
    assert fit.busy_speed == pytest.approx(BUSY_SPEED, abs=0.01)
