"""All kinds of networks: one forward pass for numpy and torch, permutations, what each of them may look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.features.stream import COLUMNS
from dovetail.schedulers.learned.stream import sure
from dovetail.schedulers.learned.stream.arrays import NUMPY
from dovetail.schedulers.learned.stream.compiled import COMPILED
from dovetail.schedulers.learned.stream.graph import graph_of
from dovetail.schedulers.learned.stream.kinds import KINDS, draw, forward, fresh_parameters, parameter_shapes
from dovetail.schedulers.learned.stream.shape import StreamShape

WORLDS, HISTORY = 3, 12
SMALL = StreamShape(width=8, hidden=12, layers=2, snapshots=4)


def network(kind, shape=SMALL, seed=0):
    rng = np.random.default_rng(seed)
    return {
        name: (value + 0.1 * rng.normal(size=value.shape)).astype(np.float32)
        for name, value in fresh_parameters(kind, shape, rng).items()
    }


def features(info, seed=1, worlds=WORLDS):
    size = (worlds, HISTORY, len(info.operator_job), len(COLUMNS))
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "sampler"), [*((kind, "learned") for kind in KINDS), ("sure", "random"), ("sure", "none")]
)
@pytest.mark.parametrize("drawing", [False, True])
@pytest.mark.parametrize("ops", [NUMPY, COMPILED], ids=["numpy", "compiled"])
def test_numpy_and_torch_say_the_same(info, kind, sampler, drawing, ops):
    torch = pytest.importorskip("torch", reason="learning needs torch: pip install 'dovetail[learn]'")
    from dovetail.training.stream_torch import TORCH

    shape, graph = replace(SMALL, sampler=sampler), graph_of(info, SMALL.hops, SMALL.neighbours)
    parameters, seen = network(kind, shape), features(info)
    noise = draw(kind, np.random.default_rng(2), shape, WORLDS, HISTORY, graph) if drawing else None
    ours = forward(ops, kind, shape, parameters, seen, graph, noise)
    tensors = {name: torch.as_tensor(value) for name, value in parameters.items()}
    theirs = forward(TORCH, kind, shape, tensors, torch.as_tensor(seen), graph, noise)
    assert ours.mean.shape == (WORLDS, len(info.operator_job)) and ours.mean.dtype == np.float32
    np.testing.assert_allclose(ours.mean, theirs.mean.numpy(), atol=2e-6)
    assert np.ptp(ours.mean) > 1e-3  # they say something
    if ours.forecast is not None:
        np.testing.assert_allclose(ours.forecast, theirs.forecast.numpy(), atol=2e-6)
    if ours.sampled is not None:
        np.testing.assert_array_equal(ours.sampled.chosen, theirs.sampled.chosen.numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_ones_change_nothing(info, kind):
    parameters = fresh_parameters(kind, SMALL, np.random.default_rng(0))
    said = forward(NUMPY, kind, SMALL, parameters, features(info), graph_of(info, SMALL.hops, SMALL.neighbours))
    assert not said.mean.any()
    assert {name: value.shape for name, value in parameters.items()} == parameter_shapes(kind, SMALL)


@pytest.mark.parametrize("kind", KINDS)
def test_worlds_do_not_mix(info, kind):
    seen, graph, parameters = features(info), graph_of(info, SMALL.hops, SMALL.neighbours), network(kind)
    together = forward(NUMPY, kind, SMALL, parameters, seen, graph).mean
    alone = forward(NUMPY, kind, SMALL, parameters, seen[1:2], graph).mean
    np.testing.assert_allclose(together[1:2], alone, atol=1e-6)


def moved(info, kind, change):
    """Which operators' actions a change of the features moves."""
    graph, parameters, seen = graph_of(info, SMALL.hops, SMALL.neighbours), network(kind), features(info, worlds=1)
    before = forward(NUMPY, kind, replace(SMALL, sampler="none"), parameters, seen, graph).mean
    other = seen.copy()
    change(other)
    after = forward(NUMPY, kind, replace(SMALL, sampler="none"), parameters, other, graph).mean
    return set(np.flatnonzero(np.abs(after - before)[0] > 1e-7))


def test_who_looks_at_what(info):
    def old(x):
        x[0, 2, 3] += 1.0  # operator 3, long ago

    def now(x):
        x[0, -1, 3] += 1.0

    everybody_of_job_0 = {0, 1, 2, 3, 4}
    assert moved(info, "dream", old) == set() and 3 in moved(info, "dream", now)
    assert moved(info, "tvw-rl", old) == {3} == moved(info, "tvw-rl", now)
    assert moved(info, "deepwave", old) == set() and moved(info, "deepwave", now) == everybody_of_job_0
    assert moved(info, "sure", old) == {0, 1, 2, 3}  # itself, and those that have it within two hops downstream
    assert 3 in moved(info, "ccrnn", old) and 3 in moved(info, "astgcn", old)


def test_a_job_has_one_action_with_deepwave(info):
    said = forward(NUMPY, "deepwave", SMALL, network("deepwave"), features(info), graph_of(info, 2, 8)).mean
    assert np.ptp(said[:, :5], axis=1).max() == 0.0 == np.ptp(said[:, 5:], axis=1).max()
    assert (said[:, 0] != said[:, 5]).all()


def test_neighbours_are_within_so_many_hops(info):
    graph = graph_of(info, 2, 8)
    near = [set(row[there > 0]) for row, there in zip(graph.near, graph.near_there, strict=True)]
    assert near == [{1, 2, 3}, {3, 4}, {3, 4}, {4}, set(), {6}, set()]
    np.testing.assert_allclose(graph.above[3, [1, 2]], 0.5)
    np.testing.assert_allclose(graph.member @ np.ones(7), 1.0)


def test_the_sampler_takes_as_many_as_asked_without_repeating(info):
    graph, parameters = graph_of(info, 2, 8), network("sure")
    for seed in range(20):
        noise = draw("sure", np.random.default_rng(seed), SMALL, WORLDS, HISTORY, graph)
        chosen = forward(NUMPY, "sure", SMALL, parameters, features(info), graph, noise).sampled.chosen
        assert chosen.shape == (WORLDS, SMALL.snapshots, 7)
        assert (np.diff(chosen, axis=1) > 0).all() and chosen.min() >= 0 and chosen.max() < HISTORY


def test_what_matters_more_is_chosen_more_often(info):
    """Gumbel top-k: over many draws, a snapshot with a larger weight is among the chosen more often."""
    weights = np.array([0.05, 0.05, 0.1, 0.3, 0.5], np.float32)[None, :, None]
    rng, counts = np.random.default_rng(0), np.zeros(5)
    for _ in range(4000):
        gumbel = -np.log(rng.standard_exponential((1, 5, 1))).astype(np.float32)
        counts[sure.choose(NUMPY, SMALL, np.log(weights), gumbel, 1).item()] += 1
    np.testing.assert_allclose(counts / 4000, weights[0, :, 0], atol=0.03)
    random = replace(SMALL, sampler="random")
    assert sure.choose(NUMPY, random, weights, None, 3)[0, :, 0].tolist() == [0, 2, 4]


def test_half_of_the_neighbours_are_taken_those_that_matter_most(info):
    graph = graph_of(info, 2, 8)
    assert sure.neighbours_taken(SMALL, graph).tolist() == [2, 1, 1, 1, 0, 1, 0]
    slots = sure.slots_of(sure.neighbours_taken(SMALL, graph))
    assert slots.whose.tolist() == [0, 0, 1, 2, 3, 5] and slots.place.tolist() == [0, 1, 0, 0, 0, 0]
    rng = np.random.default_rng(0)
    projected, scores = (rng.normal(size=(1, 4, 7, *more)).astype(np.float32) for more in ((5,), ()))
    chosen = np.tile(np.array([1, 3])[None, :, None], (1, 1, 7))
    nodes, place = NUMPY.gathered(projected, chosen, scores, None, graph.near, graph.near_there, slots)
    assert nodes.shape == (7 + 6, 1, 2, 5) and (nodes[:7, 0] == projected[0, [1, 3]].swapaxes(0, 1)).all()
    for t, snapshot in enumerate((1, 3)):
        first, second = np.argsort(-scores[0, snapshot, graph.near[0]])[:2]  # operator 0 has three
        assert place[:2, 0, t].tolist() == [first, second]
        assert (nodes[7:9, 0, t] == projected[0, snapshot, graph.near[0, [first, second]]]).all()
    assert (place[4] == 0).all()  # and operator 3 one, which is the first in any case


def test_the_past_is_weighed_by_what_matters(info):
    """By hand: two snapshots, one of which matters e^2 times as much; at random, all alike."""
    projected = np.zeros((1, 2, 1, 3), np.float32)
    projected[0, :, 0, 0] = [1.0, 3.0]
    mean = np.array([0.0, 2.0], np.float32).reshape(1, 2, 1)
    share = np.exp(2.0) / (1.0 + np.exp(2.0))
    found = sure.weighed(NUMPY, SMALL, projected, mean)
    np.testing.assert_allclose(found[0, 0], [1.0 + 2.0 * share, 0.0, 0.0], rtol=1e-6)
    found = sure.weighed(NUMPY, replace(SMALL, sampler="random"), projected, mean)
    np.testing.assert_allclose(found[0, 0], [2.0, 0.0, 0.0], rtol=1e-6)


def test_the_head_sees_how_the_weighed_mean_differs(info):
    """At random there is nothing to see; a network begins with more weight for newer snapshots."""
    projected = np.random.default_rng(0).normal(size=(1, 3, 2, 4)).astype(np.float32)
    mean = np.array([0.0, 1.0, 3.0], np.float32)[None, :, None] * np.ones((1, 1, 2), np.float32)
    plain, differs = sure.history(NUMPY, SMALL, projected, mean)
    np.testing.assert_allclose(plain, projected.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(plain + differs, sure.weighed(NUMPY, SMALL, projected, mean), atol=1e-6)
    assert not np.abs(sure.history(NUMPY, replace(SMALL, sampler="random"), projected, mean)[1]).max() > 1e-6
    fresh = fresh_parameters("sure", SMALL, np.random.default_rng(0))
    seen = np.zeros((1, HISTORY, 7, len(COLUMNS)), np.float32)
    seen[..., COLUMNS.index("age of the snapshot")] = (np.arange(HISTORY)[::-1] / HISTORY)[:, None]
    plainly = {**fresh, "project.weight": 0.0 * fresh["project.weight"]}
    weights = forward(NUMPY, "sure", SMALL, plainly, seen, graph_of(info, 2, 8)).sampled.mean
    np.testing.assert_allclose(np.diff(weights[0, :, 0]), sure.FIRST_AGE / HISTORY, rtol=1e-5)


def gradients(info, shape):
    torch = pytest.importorskip("torch", reason="learning needs torch: pip install 'dovetail[learn]'")
    from dovetail.training.stream_torch import TORCH

    graph = graph_of(info, 2, 8)
    tensors = {name: torch.as_tensor(value).requires_grad_() for name, value in network("sure", shape).items()}
    noise = draw("sure", np.random.default_rng(2), shape, WORLDS, HISTORY, graph)
    forward(TORCH, "sure", shape, tensors, torch.as_tensor(features(info)), graph, noise).mean.sum().backward()
    return {name: 0.0 if value.grad is None else float(value.grad.abs().max()) for name, value in tensors.items()}


CHOICE = ("time.mean.weight", "time.log_variance.weight", "near.other.weight")


@pytest.mark.parametrize("past", ["trend", "weighed", "sampled"])
def test_the_choice_has_a_gradient(info, past):
    """A published fault: cut by a cast to booleans, the sampler never learned from the reward."""
    found = gradients(info, replace(SMALL, past=past))
    assert all(found[name] > 0.0 for name in CHOICE)
    assert past != "trend" or found[sure.AGE] > 0.0


def test_published_faults_are_there_to_compare_with(info):
    """No gradient, and noise times the variance, not its root."""
    shape = replace(SMALL, past="sampled", faults=True)
    assert all(gradients(info, shape)[name] == 0.0 for name in CHOICE)
    graph = graph_of(info, 2, 8)
    noise = draw("sure", np.random.default_rng(2), shape, WORLDS, HISTORY, graph)
    found = forward(NUMPY, "sure", shape, network("sure", shape), features(info), graph, noise).sampled
    np.testing.assert_allclose(found.weights - found.mean, noise.normal * np.exp(found.log_variance), atol=1e-5)


def test_kinds_and_shapes_are_checked():
    with pytest.raises(UnknownName, match="did you mean 'sure'"):
        parameter_shapes("sur", SMALL)
    with pytest.raises(ConfigError, match=r"share is 0\.0; expected 0\.001 to 1"):
        StreamShape(share=0.0)
