"""SURE's objective: values known by hand, signs, gradients, and where it comes to rest."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="learning needs torch: pip install 'dovetail[learn]'")

import torch
from tests.schedulers.learned.stream.conftest import make_info

from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream import sure
from dovetail.schedulers.learned.stream.arrays import fresh
from dovetail.schedulers.learned.stream.graph import graph_of
from dovetail.schedulers.learned.stream.kinds import draw, forward, fresh_parameters
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.training import stream_losses
from dovetail.training.adam import Adam
from dovetail.training.stream_losses import OBJECTIVE, mutual_information, objective_shapes, sampler_loss
from dovetail.training.stream_plan import StreamPlan
from dovetail.training.stream_torch import TORCH

MATCH = f"{OBJECTIVE}match"
SHAPE = StreamShape(width=4, hidden=6, layers=1, snapshots=2)
ALONE = {"kl": 0.0, "likelihood": 0.0, "information": 0.0}


def sampled(mean=0.0, log_variance=0.0, weights=None, chosen=(0, 1), length=4):
    """One world, one operator."""
    full = torch.full((1, length, 1), 1.0)
    drawn = mean * full if weights is None else torch.tensor(weights).reshape(1, length, 1)
    return sure.Sampled(
        mean * full, log_variance * full, drawn, torch.tensor(chosen).reshape(1, -1, 1), torch.zeros(1, 1, 4)
    )


def loss(found, **weights):
    return sampler_loss(StreamPlan(**{**ALONE, **weights}), SHAPE, {}, torch.zeros(1, 4, 1, 1), None, found)


@pytest.mark.parametrize(
    ("mean", "log_variance", "expected"),
    [(0.0, 0.0, 0.0), (1.0, 0.0, 0.5), (-2.0, 0.0, 2.0), (0.0, np.log(2.0), 0.5 * (2.0 - 1.0 - np.log(2.0)))],
)
def test_the_divergence_is_that_of_two_normals(mean, log_variance, expected):
    found = loss(sampled(mean, log_variance), kl=3.0)
    assert found.figures["divergence"] == pytest.approx(expected, abs=1e-6)
    assert found.total.item() == pytest.approx(3.0 * expected, abs=1e-6)


def test_the_likelihood_by_hand():
    """1/2 log var + 1/2 (Omega - mu)^2 / var, less the mean logarithm of the weights of those chosen."""
    even = loss(sampled(), likelihood=2.0)
    assert even.figures["likelihood"] == pytest.approx(np.log(4.0))
    assert even.total.item() == pytest.approx(2.0 * np.log(4.0))
    drawn = [1.0, 2.0, 0.0, -1.0]
    log_theta = np.array(drawn) - np.log(np.exp(drawn).sum())
    found = loss(sampled(0.0, np.log(2.0), drawn, chosen=(1, 3)), likelihood=1.0).figures["likelihood"]
    expected = 0.5 * np.log(2.0) + 0.25 * np.mean(np.square(drawn)) - log_theta[[1, 3]].mean()
    assert found == pytest.approx(expected, rel=1e-5)


def two(monkeypatch, part, whole, match):
    """Two graphs."""
    monkeypatch.setattr(stream_losses, "whole_graphs", lambda *given: torch.tensor(whole).reshape(2, 1, -1))
    given = torch.zeros(2, 1, 1, 1)  # only its shape is read
    return mutual_information(SHAPE, {MATCH: match}, given, None, torch.tensor(part).reshape(2, 1, -1))


def test_mutual_information_by_hand(monkeypatch):
    """Of those that say nothing of each other, -2 log 2; of a perfect match, nearly 0; and less if they are swapped."""
    one, other = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    assert two(monkeypatch, one, one, torch.zeros(2, 2)).item() == pytest.approx(-2.0 * np.log(2.0))
    tells = torch.tensor([[9.0, -9.0], [-9.0, 9.0]])
    expected = -2.0 * np.log1p(np.exp(-9.0))
    assert two(monkeypatch, one, one, tells).item() == pytest.approx(expected, abs=1e-6)
    assert two(monkeypatch, one, other, tells).item() == pytest.approx(-2.0 * np.log1p(np.exp(9.0)), rel=1e-5)


def test_learning_adds_information_and_without_a_weight_it_is_left_out(monkeypatch):
    match = torch.zeros(2, 2, requires_grad=True)
    before = two(monkeypatch, [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], match)
    (-before).backward()
    after = two(monkeypatch, [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], match - 0.5 * match.grad)
    assert after.item() > before.item()
    monkeypatch.setattr(stream_losses, "mutual_information", lambda *given: torch.tensor(5.0))
    assert loss(sampled(), information=2.0).total.item() == pytest.approx(-10.0)
    left_out = loss(sampled(), information=0.0)
    assert left_out.figures["information"] == 0.0 and left_out.total.item() == 0.0


@pytest.fixture
def world():
    """Parameters of a fresh network, features of seven operators, and their graph."""
    info, rng = make_info(), np.random.default_rng(0)
    parameters = fresh_parameters("sure", SHAPE, rng) | fresh(objective_shapes("sure", SHAPE), rng)
    features = rng.normal(size=(2, 12, len(info.operator_job), len(COLUMNS))).astype(np.float32)
    return parameters, torch.as_tensor(features), graph_of(info, SHAPE.hops, SHAPE.neighbours)


def test_the_variance_comes_to_rest_and_goes_on_learning(world):
    """Unbalanced, the likelihood drives it to its bound, where nothing has a gradient any more.

    (var - 1) kl + likelihood = 0 where both are in balance.
    """
    parameters, features, graph = world
    plan = StreamPlan(information=0.0)
    adam, rng = Adam(parameters, 0.03), np.random.default_rng(1)
    for _ in range(400):
        named = {name: torch.as_tensor(value).clone().requires_grad_() for name, value in parameters.items()}
        noise = draw("sure", rng, SHAPE, 2, 12, graph)
        found = forward(TORCH, "sure", SHAPE, named, features, graph, noise).sampled
        objective = sampler_loss(plan, SHAPE, named, features, graph, found).total / plan.kl
        objective.backward()
        gradient = {
            name: np.zeros(value.shape, np.float32) if value.grad is None else value.grad.numpy()
            for name, value in named.items()
        }
        adam.step(parameters, gradient, 1e9)
        parameters = {name: np.asarray(value, np.float32) for name, value in parameters.items()}
    rest = float(found.log_variance.detach().mean())
    assert rest == pytest.approx(np.log(1.0 - plan.likelihood / plan.kl), abs=0.2)
    named = {name: torch.as_tensor(value).requires_grad_() for name, value in parameters.items()}
    said = forward(TORCH, "sure", SHAPE, named, features, graph, draw("sure", rng, SHAPE, 2, 12, graph))
    (slope,) = torch.autograd.grad(said.sampled.weights.square().sum(), named["time.log_variance.bias"])
    assert slope.abs().max() > 0.1


def test_even_beyond_its_usual_range_the_variance_has_a_gradient(world):
    parameters, features, graph = world
    parameters["time.log_variance.bias"][:] = -2.0 * sure.MOST_LOG_VARIANCE
    named = {name: torch.as_tensor(value).requires_grad_() for name, value in parameters.items()}
    found = forward(TORCH, "sure", SHAPE, named, features, graph).sampled
    assert found.log_variance.min() > -sure.MOST_LOG_VARIANCE
    (slope,) = torch.autograd.grad(found.log_variance.sum(), named["time.log_variance.bias"])
    assert slope.abs().max() > 0.0
