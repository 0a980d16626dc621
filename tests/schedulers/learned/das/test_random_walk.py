"""The random-walk Gaussian process is what it claims to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dovetail.schedulers.learned.das.random_walk import LONGEST_WALK, RandomWalk

FEATURES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=st.floats(0.0, 10.0, allow_subnormal=False)
)


def drawn(nodes: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((nodes, width))


@given(FEATURES, st.floats(0.05, 0.95))
def test_the_kernel_is_symmetric_and_positive_definite(features: np.ndarray, walk: float) -> None:
    kernel = RandomWalk.of(features, walk).kernel()
    assert np.array_equal(kernel, kernel.T)
    assert np.allclose(np.diag(kernel), 1.0)
    assert np.linalg.eigvalsh(kernel).min() > 0.0


def normalised(kernel: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.diag(kernel))
    return kernel / root[:, None] / root[None, :]


@pytest.mark.parametrize("walk", [0.2, 0.7])
def test_it_is_the_sum_over_all_walks(walk: float) -> None:
    features = drawn(7, 3)
    similar = features @ features.T
    degree = similar.sum(axis=1)
    step = similar / degree[:, None]  # row-stochastic: the walker's next node
    total, power = np.zeros_like(step), np.eye(7)
    for _ in range(200):
        total += power
        power = walk * power @ step
    symmetric = np.sqrt(degree)[:, None] * total / np.sqrt(degree)[None, :]
    assert np.allclose(RandomWalk.of(features, walk).kernel(), normalised(symmetric))


def test_walks_enumerated_one_by_one_on_a_graph_of_three_nodes() -> None:
    """Probabilities of all walks of up to six steps, each walked by hand."""
    features, walk = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]]), 0.1
    similar = features @ features.T
    degree = similar.sum(axis=1)
    total = np.zeros((3, 3))

    def go(start: int, node: int, weight: float, steps: int) -> None:
        total[start, node] += weight
        if steps:
            for other in range(3):
                go(start, other, weight * walk * similar[node, other] / degree[node], steps - 1)

    for start in range(3):
        go(start, start, 1.0, 6)
    symmetric = np.sqrt(degree)[:, None] * total / np.sqrt(degree)[None, :]
    assert np.allclose(RandomWalk.of(features, walk).kernel(), normalised(symmetric), atol=1e-6)


def test_the_posterior_is_the_published_formula() -> None:
    features, noise = drawn(10, 4), np.array([0.3, 0.1, 2.0, 0.3])
    values = np.random.default_rng(1).normal(size=4)
    graph = RandomWalk.of(features, 0.8)
    kernel = graph.kernel()
    seen, asked = slice(6, 10), slice(0, 6)
    inverse = np.linalg.inv(kernel[seen, seen] + np.diag(noise))
    found = graph.posterior(seen, values, asked, noise)
    assert np.allclose(found.mean, kernel[asked, seen] @ inverse @ values)
    covariance = kernel[asked, asked] - kernel[asked, seen] @ inverse @ kernel[seen, asked]
    assert np.allclose(found.covariance(), covariance)
    assert np.allclose(found.variance(), np.diag(covariance))


def test_the_posterior_is_that_of_an_exact_process_of_gpytorch() -> None:
    gpytorch = pytest.importorskip("gpytorch", reason="pip install -e '.[peers]' to compare")
    import torch

    features, noise = drawn(12, 5, seed=3), np.array([0.2, 0.1, 0.5, 0.2, 1.0])
    values = np.random.default_rng(4).normal(size=5)
    graph = RandomWalk.of(features, 0.9)
    table = torch.as_tensor(graph.kernel())

    class Walks(gpytorch.kernels.Kernel):
        def forward(self, first, second, diag=False, **_):
            found = table[first[:, 0].long()][:, second[:, 0].long()]
            return found.diagonal() if diag else found

    class Process(gpytorch.models.ExactGP):
        def __init__(self, nodes, seen, likelihood):
            super().__init__(nodes, seen, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = Walks()

        def forward(self, nodes):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(nodes), self.covar_module(nodes))

    nodes = torch.arange(12, dtype=torch.float64)[:, None]
    likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noise=torch.as_tensor(noise)).double()
    process = Process(nodes[7:], torch.as_tensor(values), likelihood).double().eval()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        theirs = process(nodes[:7])
    ours = graph.posterior(slice(7, 12), values, slice(0, 7), noise)
    assert np.allclose(ours.mean, theirs.mean.numpy(), atol=1e-6)
    assert np.allclose(ours.covariance(), theirs.covariance_matrix.numpy(), atol=1e-6)


def test_draws_have_the_covariance_they_should() -> None:
    graph = RandomWalk.of(drawn(6, 3), 0.9)
    posterior = graph.posterior(slice(4, 6), np.array([1.0, -1.0]), slice(0, 4), np.full(2, 0.1))
    rng = np.random.default_rng(0)
    draws = np.array([posterior.sample(0.5, rng) for _ in range(40_000)])
    assert np.allclose(draws.mean(axis=0), posterior.mean, atol=0.02)
    assert np.allclose(np.cov(draws.T), 0.25 * posterior.covariance(), atol=0.02)


def test_a_node_without_features_stands_alone() -> None:
    features = drawn(5, 3)
    features[2] = 0.0
    kernel = RandomWalk.of(features, 0.9).kernel()
    assert kernel[2, 2] == 1.0 and np.count_nonzero(kernel[2]) == 1


def test_what_is_like_the_observed_is_known_better() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])  # the first is like the two that were seen
    posterior = RandomWalk.of(features, 0.9).posterior(
        slice(2, 4), np.array([-1.0, -1.0]), slice(0, 2), np.full(2, 0.1)
    )
    assert posterior.mean[0] < -0.2 and abs(posterior.mean[1]) < 1e-9
    assert posterior.variance()[0] < posterior.variance()[1]


def test_before_anything_was_seen_all_are_as_uncertain() -> None:
    posterior = RandomWalk.of(drawn(9, 4), 0.95).posterior(slice(9, 9), np.zeros(0), slice(0, 9), np.zeros(0))
    assert np.allclose(posterior.variance(), 1.0)


def test_measurements_that_contradict_each_other_leave_more_uncertain() -> None:
    features = np.array([[1.0, 0.01], [0.01, 1.0], *[[1.0, 0.01]] * 4, *[[0.01, 1.0]] * 4])
    graph, runs = RandomWalk.of(features, 0.9), slice(2, 10)
    values = np.array([0.5, 0.5, 0.5, 0.5, -1.5, 1.5, -1.5, 1.5])
    noise = graph.noise(runs, values, 0.1)
    assert (noise[:4] < noise[4:]).all()
    variance = graph.posterior(runs, values, slice(0, 2), noise).variance()
    assert variance[0] < variance[1] < 1.0


def test_what_was_seen_long_ago_counts_for_less() -> None:
    graph = RandomWalk.of(np.array([[1.0], [1.0]]), 0.9)
    means = []
    for age in (0.0, 1.0, 5.0, 1000.0):
        noise = graph.noise(slice(1, 2), np.array([1.0]), 0.1, rate=1.0, age=np.array([age]))
        means.append(float(graph.posterior(slice(1, 2), np.array([1.0]), slice(0, 1), noise).mean[0]))
    assert means == sorted(means, reverse=True) and 0.0 < means[-1] < 1e-3 < means[0]


@given(FEATURES, st.floats(0.05, 1.0))
def test_what_is_factored_is_positive_definite_by_so_much_that_no_jitter_is_needed(
    features: np.ndarray, walk: float
) -> None:
    graph = RandomWalk.of(features, walk)
    least = 1.0 / min(walk, LONGEST_WALK) - 1.0
    assert least > 0.99e-6
    assert np.linalg.eigvalsh(graph.core_inverse).min() > least - 1e-9
    assert np.isfinite(graph.spread).all() and (graph.own > 0.0).all()


@pytest.mark.parametrize("walk", [1e-9, 0.999, 1.0 - 1e-12, 1.0])
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e100])
def test_walks_that_hardly_end_are_safe(walk: float, size: float) -> None:
    graph = RandomWalk.of(size * drawn(140, 12), walk)
    posterior = graph.posterior(slice(128, 140), np.ones(12), slice(0, 128), np.full(12, 0.3))
    assert np.isfinite(posterior.mean).all()
    assert (posterior.variance() > 0.0).all() and (posterior.variance() < 1.0 + 1e-6).all()
