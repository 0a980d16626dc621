"""The models over one flat vector, and the data they learn from."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.execution.elastic.data import Data
from dovetail.execution.elastic.live_workload import PARAMETERS
from dovetail.execution.elastic.network import Network
from dovetail.execution.elastic.training_job import MODELS, TrainingJob


def job(model: str, **changed: float) -> TrainingJob:
    given = {"seed": 3, "epochs": 2, "chunks": 2, "batches": 4, "batch_size": 16, **changed}
    return TrainingJob(model, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
def test_the_gradient_is_that_of_the_loss(model: str) -> None:
    """By differences, along a random direction."""
    network, batch = Network.open(model, 0), Data(job(model)).batch(0, 0)
    first = network.gradient(*batch)
    assert network.parameters.size == network.gradients.size == PARAMETERS[model]
    assert network.loss(*batch) == pytest.approx(first)
    direction = np.random.default_rng(0).normal(size=network.parameters.size).astype(np.float32)
    expected, step = float(network.gradients @ direction), 1e-3
    with network.at(network.parameters + step * direction):
        more = network.loss(*batch)
    with network.at(network.parameters - step * direction):
        less = network.loss(*batch)
    assert (more - less) / (2 * step) == pytest.approx(expected, rel=0.05, abs=0.01)
    assert network.loss(*batch) == pytest.approx(first)  # `at` has put everything back


@pytest.mark.parametrize("model", MODELS)
def test_gradients_do_not_add_up_and_seeds_decide(model: str) -> None:
    one, same, other = Network.open(model, 1), Network.open(model, 1), Network.open(model, 2)
    assert one.parameters.tobytes() == same.parameters.tobytes() != other.parameters.tobytes()
    batch = Data(job(model)).batch(0, 0)
    one.gradient(*batch)
    before = one.gradients.copy()
    one.gradient(*batch)
    np.testing.assert_array_equal(one.gradients, before)


@pytest.mark.parametrize("model", MODELS)
def test_chunks_are_the_same_wherever_they_are_made(model: str) -> None:
    here, there = Data(job(model)), Data(job(model))
    there.batch(0, 0)
    for chunk, number in ((1, 3), (0, 2)):
        for mine, theirs in zip(here.batch(chunk, number), there.batch(chunk, number), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(here.batch(0, 1)[0], here.batch(0, 5)[0])  # the same one, an epoch later
    assert (here.batch(0, 0)[0] != here.batch(1, 0)[0]).any()
    assert (Data(job(model, seed=4)).batch(0, 0)[0] != here.batch(0, 0)[0]).any()
    assert here.batch(0, 0)[0].dtype == np.float32 and len(here.batch(0, 0)[0]) == 16


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"epochs": 10**9}, "mini-batches in all"),
        ({"pad_s": -1.0}, "pad_s is -1"),
        ({"pad_s": float("nan")}, "pad_s is nan"),
        ({"learning_rate": 0.0}, "learning_rate 0.0"),
        ({"momentum": 1.0}, "momentum 1.0"),
    ],
)
def test_jobs_that_make_no_sense_are_refused(changed: dict[str, float], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        job("mlp", **changed)
    with pytest.raises(UnknownName, match="mlp"):
        job("mpl")
