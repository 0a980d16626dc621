"""The network that decides (numpy) is the network that learns (torch)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS
from dovetail.schedulers.learned.das.forward import PLACE_STD, DasForward, affinity, priorities
from dovetail.schedulers.learned.das.network import DasNetwork, Placed, log_probability
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS, DasShape

SHAPES = [
    DasShape(),
    DasShape(communicate=False),
    DasShape(random_walk=False),
    DasShape(communicate=False, random_walk=False, layers=2, heads=2),
]


def parameters(shape: DasShape) -> dict[str, Floats]:
    """None of them zero, so that every part counts."""
    rng = np.random.default_rng(7)
    return {name: value + 0.1 * rng.normal(size=value.shape) for name, value in shape.fresh(rng).items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_priorities(shape: DasShape) -> None:
    held = parameters(shape)
    forward, network = DasForward(shape, held), DasNetwork(shape, held)
    rng = np.random.default_rng(0)
    machines = rng.random((5, len(MACHINE_COLUMNS)))
    queues = [rng.random((count, len(JOB_COLUMNS))) for count in (1, 4, 9)]
    padded, there = np.zeros((3, 9, len(JOB_COLUMNS))), np.zeros((3, 9))
    for row, queue in enumerate(queues):
        padded[row, : len(queue)], there[row, : len(queue)] = queue, 1.0
    with torch.no_grad():
        found = network.priorities(
            torch.as_tensor(padded), torch.as_tensor(there), torch.as_tensor(machines).expand(3, -1, -1)
        ).numpy()
    for row, queue in enumerate(queues):
        assert np.allclose(found[row, : len(queue)], priorities(forward.weights, queue, machines))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("remembered", [0, 3])
def test_affinities(shape: DasShape, remembered: int) -> None:
    held = parameters(shape)
    forward, network = DasForward(shape, held), DasNetwork(shape, held)
    rng = np.random.default_rng(1)
    machines, most = 6, 5
    nodes = rng.random((machines + remembered, len(NODE_COLUMNS)))
    rack, log_ratio = np.arange(machines + remembered) % 3, rng.normal(size=remembered)
    mean, speed, factor = affinity(forward.weights, machines, nodes, rack, log_ratio)
    full = np.zeros((1, machines + most, len(NODE_COLUMNS)))
    full[0, : machines + remembered] = nodes
    one_hot = np.zeros((1, machines + most, 3))
    one_hot[0, np.arange(machines + remembered), rack] = 1.0
    ratios, observed = np.zeros((1, most)), np.zeros((1, most))
    ratios[0, :remembered], observed[0, :remembered] = log_ratio, 1.0
    with torch.no_grad():
        theirs = network.affinities(*(torch.as_tensor(part) for part in (full, one_hot, ratios, observed)), machines)
    assert np.allclose(theirs.mean[0].numpy(), mean)
    assert np.allclose(theirs.speed[0].numpy(), speed)
    assert np.allclose((theirs.factor[0] @ theirs.factor[0].T).numpy(), factor @ factor.T)
    assert float(theirs.scale) == pytest.approx(np.exp(forward.weights.scalars[PLACE_STD]))


def test_log_density_is_that_of_a_normal_distribution() -> None:
    rng = np.random.default_rng(2)
    placed = Placed(
        *(torch.as_tensor(part) for part in (rng.normal(size=(2, 5)), rng.normal(size=(2, 5, 3)), 0.7)),
        torch.zeros((2, 5)),
    )
    drawn = torch.as_tensor(rng.normal(size=(2, 5)))
    possible = torch.as_tensor(np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 1]]), dtype=torch.float64)
    density, entropy = log_probability(drawn, placed, possible)
    for row in range(2):
        kept = possible[row].bool()
        factor = placed.factor[row][kept]
        exact = torch.distributions.MultivariateNormal(
            placed.mean[row][kept], 0.49 * (torch.eye(int(kept.sum()), dtype=torch.float64) + factor @ factor.T)
        )
        assert float(density[row]) == pytest.approx(float(exact.log_prob(drawn[row][kept])))
        assert float(entropy[row]) == pytest.approx(float(exact.entropy()))
