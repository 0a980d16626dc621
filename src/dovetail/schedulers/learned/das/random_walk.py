"""The random-walk Gaussian process (RWGP) of DAS (KDD 2023), in closed form.

Machines are nodes of a graph, and so is everything that was observed before.  W = Z Z' is how similar two nodes are for
the job at hand (Z >= 0, one row a node: learned features, and columns for racks), D its row sums.  A walker that stops
with probability 1 - walk at each step relates two nodes by

    K = sum over l of walk^l (D^-1/2 W D^-1/2)^l = (I - walk S S')^-1 = I + S C S'
    S = D^-1/2 Z,   C = (I / walk - S' S)^-1

which is symmetric and positive definite for 0 < walk < 1, because S S' has the eigenvalues of the row-stochastic
D^-1 W.  Because W has the rank d of Z, everything below costs (nodes x d^2), not nodes^3: K is the covariance of
S w + e with w ~ N(0, C) and e ~ N(0, I), so the posterior after observing Y at the nodes X (noise s^2) is that of a
linear regression:

    B = (C^-1 + S_X' S_X / (1 + s^2))^-1,    mu = S B S_X' Y / (1 + s^2),    Sigma = I + S B S'

which equals the published k(S, X) [k(X, X) + s^2 I]^-1 Y and its covariance (tests hold it to GPyTorch).

Departures.  The printed kernel compares whole graphs, and with a row-stochastic matrix it is the same number for any
two graphs; what is needed is one number for each pair of machines, so this is the kernel between nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats
from dovetail.schedulers.learned.das.algebra import by_vector, cholesky, inner, solve_lower, solve_upper
from dovetail.schedulers.learned.das.jit import OPTIONS

LEAST_SIMILARITY = 1e-9  # of a node to itself, so that one without features stands alone instead of dividing by zero


@njit(**OPTIONS)
def walk_among(features, walk):
    """S and C^-1 from Z."""
    degree = by_vector(features, features.sum(axis=0))
    spread = np.empty(features.shape)
    for node in range(len(degree)):
        spread[node] = features[node] / np.sqrt(max(degree[node], LEAST_SIMILARITY))
    return spread, np.eye(features.shape[1]) / walk - inner(spread)


@njit(**OPTIONS)
def posterior_at(here, there, core_inverse, values, noise):
    """mu and F of N(mu, I + F F') at the nodes `here` (rows of S), after `values` were seen at the nodes `there`."""
    total = 1.0 + noise
    lower = cholesky(core_inverse + inner(there) / total)
    pulled = np.zeros(there.shape[1])
    for node in range(there.shape[0]):
        pulled += there[node] * values[node]
    weights = solve_upper(lower, solve_lower(lower, pulled)) / total
    factor = np.empty(here.shape)
    for node in range(here.shape[0]):
        factor[node] = solve_lower(lower, here[node])
    return by_vector(here, weights), factor


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """The kernel among n nodes."""

    spread: Floats  # (n, d) S
    core_inverse: Floats  # (d, d) I / walk - S' S

    @classmethod
    def of(cls, features: Floats, walk: float) -> RandomWalk:
        """`features`: Z, (n, d), 0 or more; `walk`: above 0, below 1."""
        return cls(*walk_among(np.ascontiguousarray(features, np.float64), walk))

    def kernel(self) -> Floats:
        """(n, n)."""
        solved = np.linalg.solve(self.core_inverse, self.spread.T)
        kernel: Floats = np.eye(len(self.spread)) + self.spread @ solved
        return (kernel + kernel.T) / 2.0

    def posterior(self, observed: slice, values: Floats, asked: slice, noise: float) -> Posterior:
        """Of the nodes `asked`, after `values` were seen at the nodes `observed` with noise of that variance."""
        there, here = (np.ascontiguousarray(self.spread[nodes]) for nodes in (observed, asked))
        return Posterior(*posterior_at(here, there, self.core_inverse, np.asarray(values, np.float64), noise))


@dataclass(frozen=True, eq=False)
class Posterior:
    """N(mean, I + factor factor'), the identity being what no other node tells about."""

    mean: Floats  # (m,)
    factor: Floats  # (m, d)

    def variance(self) -> Floats:
        """(m,) of each node."""
        found: Floats = 1.0 + (self.factor**2).sum(axis=1)
        return found

    def covariance(self) -> Floats:
        """(m, m)."""
        found: Floats = np.eye(len(self.mean)) + self.factor @ self.factor.T
        return found

    def sample(self, scale: float, rng: np.random.Generator) -> Floats:
        """mean + scale x a draw of N(0, covariance)."""
        drawn = self.factor @ rng.standard_normal(self.factor.shape[1]) + rng.standard_normal(len(self.mean))
        found: Floats = self.mean + scale * drawn
        return found
