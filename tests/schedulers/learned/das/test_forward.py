"""The network that decides (numpy) is the network that learns (torch)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS, START_COLUMNS
from dovetail.schedulers.learned.das.forward import DasForward, affinity, judged_jobs, starts_now
from dovetail.schedulers.learned.das.network import DasNetwork
from dovetail.schedulers.learned.das.shape import MOST_READY, NODE_COLUMNS, OF_MACHINES, DasShape
from dovetail.training.das_recorder import PlacedOne
from dovetail.training.fork_gradient import PlaceBatch

NOTHING = {True: np.zeros((0, DasShape().rank)), False: np.zeros((0, 0))}
SHAPES = [
    DasShape(),
    DasShape(communicate=False),
    DasShape(random_walk=False),
    DasShape(communicate=False, aware=False, random_walk=False, layers=2, heads=2),
]


def parameters(shape: DasShape) -> dict[str, Floats]:
    """None of them zero, so that every part counts."""
    rng = np.random.default_rng(7)
    return {name: value + 0.1 * rng.normal(size=value.shape) for name, value in shape.fresh(rng).items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_judged_jobs(shape: DasShape) -> None:
    held = parameters(shape)
    forward, network = DasForward(shape, held), DasNetwork(shape, held)
    rng = np.random.default_rng(0)
    machines = rng.random((5, len(MACHINE_COLUMNS)))
    queues = [rng.random((count, len(JOB_COLUMNS))) for count in (1, 4, 9)]
    padded, there = np.zeros((3, 9, len(JOB_COLUMNS))), np.zeros((3, 9))
    for row, queue in enumerate(queues):
        padded[row, : len(queue)], there[row, : len(queue)] = queue, 1.0
    with torch.no_grad():
        judged, _ = network.judged_jobs(
            torch.as_tensor(padded), torch.as_tensor(there), torch.as_tensor(machines).expand(3, -1, -1)
        )
    found = judged.numpy()
    for row, queue in enumerate(queues):
        assert np.allclose(found[row, : len(queue)], judged_jobs(forward.weights, queue, machines))


def test_readiness_is_bounded_whatever_it_sees() -> None:
    """Jobs a thousand times as long as any it learned from: the rule still decides."""
    shape = DasShape()
    held = parameters(shape) | {"order.out.weight": np.full((shape.width, 2), 10.0), "order.trust": np.full(2, 50.0)}
    rng = np.random.default_rng(1)
    judged = judged_jobs(
        DasForward(shape, held).weights, 1e3 * rng.random((6, len(JOB_COLUMNS))), rng.random((5, len(MACHINE_COLUMNS)))
    )
    assert np.abs(judged[:, 1]).max() == pytest.approx(MOST_READY, rel=1e-3) and np.abs(judged[:, 0]).max() > 10.0


@pytest.mark.parametrize("communicate", [True, False])
@pytest.mark.parametrize("aware", [True, False])
def test_the_state_of_machines_comes_by_the_network_and_by_the_rules(communicate: bool, aware: bool) -> None:
    """Unless either has it, it changes no score."""
    rng = np.random.default_rng(0)
    jobs, machines = rng.random((4, len(JOB_COLUMNS))), rng.random((5, len(MACHINE_COLUMNS)))
    starts = rng.random(len(START_COLUMNS))
    shape = DasShape(communicate=communicate, aware=aware)
    weights = DasForward(shape, parameters(shape)).weights
    other, later = jobs.copy(), starts.copy()
    other[:, [JOB_COLUMNS.index(name) for name in OF_MACHINES["order"]]] += 0.5
    later[[START_COLUMNS.index(name) for name in OF_MACHINES["start"]]] += 0.5
    judged = judged_jobs(weights, jobs, machines)
    assert np.allclose(judged, judged_jobs(weights, jobs, machines + 0.5)) != communicate
    assert np.allclose(judged, judged_jobs(weights, other, machines)) != aware
    assert np.isclose(starts_now(weights, starts), starts_now(weights, later)) != aware


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
        nothing = (NOTHING[shape.random_walk], np.zeros(0), np.zeros(0), True)
        walked = affinity(forward.weights, nodes, at, rack, *nothing)[3]
        values, age = rng.normal(size=past), rng.uniform(0.0, 3.0, past)
        history = np.ascontiguousarray(walked[machines:])
        expected.append(affinity(forward.weights, nodes[:machines].copy(), at, rack, history, values, age, True))
        turns.append(PlacedOne(0, nodes, at, rack, values, age, np.ones(machines), np.zeros(machines), 1))
    batch = PlaceBatch(turns, np.zeros(2), [])
    with torch.no_grad():
        theirs = network.affinities(batch.nodes, batch.near, batch.surprise, batch.age, batch.there)
    for row, (mean, speed, variance, _) in enumerate(expected):
        machines = len(mean)
        assert np.allclose(theirs.mean[row, :machines].numpy(), mean)
        assert np.allclose(theirs.speed[row, :machines].numpy(), speed)
        assert np.allclose(theirs.variance[row, :machines].numpy(), variance)
