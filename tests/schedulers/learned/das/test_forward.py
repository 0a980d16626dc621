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
from dovetail.training.das_explorer import PlacedOne
from dovetail.training.mappo import PlaceBatch

NOTHING = {True: np.zeros((0, DasShape().rank)), False: np.zeros((0, 0))}
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
    """As the placement agent's turns come to the network that learns: padded, beside one of another size."""
    held = parameters(shape)
    forward, network = DasForward(shape, held), DasNetwork(shape, held)
    turns, expected = [], []
    for machines, past in ((6, remembered), (4, 5)):
        rng = np.random.default_rng(machines)
        nodes = rng.random((machines + past, len(NODE_COLUMNS)))
        rack, at = np.arange(8) % 3, np.concatenate((rng.permutation(8)[:machines], rng.integers(8, size=past)))
        walked = affinity(forward.weights, nodes, at, rack, NOTHING[shape.random_walk], np.zeros(0))[3]
        values = rng.normal(size=past)
        history = np.ascontiguousarray(walked[machines:])
        expected.append(affinity(forward.weights, nodes[:machines].copy(), at, rack, history, values))
        turns.append(PlacedOne(0, 0, nodes, at, rack, values, rng.normal(size=machines), 1))
    batch = PlaceBatch(turns, np.zeros(2), np.zeros(2))
    with torch.no_grad():
        theirs = network.affinities(batch.nodes, batch.near, batch.surprise, batch.there)
    for row, (mean, speed, factor, _) in enumerate(expected):
        machines = len(mean)
        assert np.allclose(theirs.mean[row, :machines].numpy(), mean)
        assert np.allclose(theirs.speed[row, :machines].numpy(), speed)
        found = theirs.factor[row, :machines].numpy()
        assert np.allclose(found @ found.T, factor @ factor.T)
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
