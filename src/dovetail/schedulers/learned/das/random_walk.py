"""The random-walk Gaussian process (RWGP) of DAS (KDD 2023), in closed form.

Machines are nodes of a graph, and so is everything that was observed before.  W = Z Z' is how similar two nodes are for
the job at hand (Z >= 0, one row a node: learned features, and columns for racks), D its row sums.  A walker that stops
with probability 1 - walk at each step relates two nodes by

    R = sum over l of walk^l (D^-1/2 W D^-1/2)^l = (I - walk S S')^-1 = I + S C S'
    S = D^-1/2 Z,   C = (I / walk - S' S)^-1

which is symmetric and positive definite for 0 < walk < 1, because S S' has the eigenvalues of the row-stochastic
D^-1 W.  The kernel is R divided by the roots of its diagonal r, so that no node is more certain than another before
anything was seen:

    K = diag(1 / r) + S~ C S~',    S~ = diag(r)^-1/2 S

Because W has the rank d of Z, everything below costs (nodes x d^2), not nodes^3: K is the covariance of S~ w + e with
w ~ N(0, C) and e ~ N(0, diag(1 / r)), so the posterior after observing Y at the nodes X (noise n_i) is that of a linear
regression, with t_i = 1 / r_i + n_i and T their diagonal matrix:

    B = (C^-1 + S~_X' T^-1 S~_X)^-1,    mu = S~ B S~_X' T^-1 Y,    Sigma = diag(1 / r) + S~ B S~'

which equals the published k(S, X) [k(X, X) + N]^-1 Y and its covariance (tests hold it to GPyTorch).

No jitter is added before Cholesky, and none is needed: S' S has the eigenvalues of a row-stochastic matrix, 1 at most,
so those of C^-1 are at least 1 / walk - 1, which `LONGEST_WALK` keeps at 1e-6 or more, ten orders above what rounding
makes of matrices this small; and B^-1 is C^-1 plus what is positive semi-definite.

An observation has noise of its own: s^2, and the variance of what a walker finds that steps from it to the others that
were observed, and what time has made of it, exp(rate x age) - 1.  Without the second, measurements that contradict each
other would leave a node as certain as those that agree: the variance of a process with fixed noise does not depend on
what was measured.

Departures.  The printed kernel compares whole graphs, and with a row-stochastic matrix it is the same number for any
two graphs; what is needed is one number for each pair of machines, so this is the kernel between nodes.  The published
noise is one number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats
from dovetail.schedulers.learned.das.algebra import by_vector, cholesky, inner, solve_lower, solve_upper
from dovetail.schedulers.learned.das.jit import OPTIONS

LEAST_SIMILARITY = 1e-9  # of a node to itself, so that one without features stands alone instead of dividing by zero
LONGEST_WALK = 1.0 - 1e-6  # beyond, C is no longer positive definite in floating point
OLDEST = 10.0  # rate x age, from where on an observation counts for nothing


@njit(**OPTIONS)
def walk_among(features, walk):
    """S~, (n,) 1 / r and C^-1 from Z."""
    degree = by_vector(features, features.sum(axis=0))
    spread = np.empty(features.shape)
    for node in range(len(degree)):
        spread[node] = features[node] / np.sqrt(max(degree[node], LEAST_SIMILARITY))
    core_inverse = np.eye(features.shape[1]) / min(walk, LONGEST_WALK) - inner(spread)
    lower = cholesky(core_inverse)
    own = np.empty(len(degree))
    for node in range(len(degree)):
        own[node] = 1.0 / (1.0 + (solve_lower(lower, spread[node]) ** 2).sum())
        spread[node] *= np.sqrt(own[node])
    return spread, own, core_inverse


@njit(**OPTIONS)
def noise_of(features, values, base, rate, age):
    """(n,) variances: `base`, how much the values around each differ (`features`: Z of these nodes), and its age."""
    found = np.empty(len(values))
    width = features.shape[1]
    near, first, second = np.zeros(width), np.zeros(width), np.zeros(width)
    for node in range(len(values)):
        near += features[node]
        first += features[node] * values[node]
        second += features[node] * values[node] ** 2
    for node in range(len(values)):
        weight = max((features[node] * near).sum(), LEAST_SIMILARITY)
        mean = (features[node] * first).sum() / weight
        differ = max((features[node] * second).sum() / weight - mean**2, 0.0)
        found[node] = base + differ + np.expm1(min(rate * age[node], OLDEST))
    return found


@njit(**OPTIONS)
def posterior_at(here, there, own_there, core_inverse, values, noise):
    """mu at the nodes `here` (rows of S~), after `values` were seen at the nodes `there`; L with L L' = B^-1."""
    seen, pulled = np.empty(there.shape), np.zeros(there.shape[1])
    for node in range(there.shape[0]):
        total = own_there[node] + noise[node]
        seen[node] = there[node] / np.sqrt(total)
        pulled += there[node] * (values[node] / total)
    lower = cholesky(core_inverse + inner(seen))
    return by_vector(here, solve_upper(lower, solve_lower(lower, pulled))), lower


@njit(**OPTIONS)
def factor_at(here, lower):
    """F with F F' = S~ B S~' at the nodes `here`."""
    factor = np.empty(here.shape)
    for node in range(here.shape[0]):
        factor[node] = solve_lower(lower, here[node])
    return factor


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """The kernel among n nodes."""

    features: Floats  # (n, d) Z
    spread: Floats  # (n, d) S~
    own: Floats  # (n,) 1 / r
    core_inverse: Floats  # (d, d) I / walk - S' S

    @classmethod
    def of(cls, features: Floats, walk: float) -> RandomWalk:
        """`features`: Z, (n, d), 0 or more; `walk`: above 0, below 1."""
        held = np.ascontiguousarray(features, np.float64)
        return cls(held, *walk_among(held, walk))

    def kernel(self) -> Floats:
        """(n, n)."""
        solved = np.linalg.solve(self.core_inverse, self.spread.T)
        kernel: Floats = np.diag(self.own) + self.spread @ solved
        return (kernel + kernel.T) / 2.0

    def noise(
        self, observed: slice, values: Floats, base: float, rate: float = 0.0, age: Floats | None = None
    ) -> Floats:
        """(x,) of what was seen at the nodes `observed`."""
        held = np.asarray(values, np.float64)
        found: Floats = noise_of(
            np.ascontiguousarray(self.features[observed]), held, base, rate, np.zeros(len(held)) if age is None else age
        )
        return found

    def posterior(self, observed: slice, values: Floats, asked: slice, noise: Floats) -> Posterior:
        """Of the nodes `asked`, after `values` were seen at the nodes `observed` with noise of these variances."""
        there, here = (np.ascontiguousarray(self.spread[nodes]) for nodes in (observed, asked))
        seen = np.asarray(values, np.float64)
        mean, lower = posterior_at(here, there, self.own[observed], self.core_inverse, seen, noise)
        return Posterior(mean, self.own[asked], factor_at(here, lower))


@dataclass(frozen=True, eq=False)
class Posterior:
    """N(mean, diag(own) + factor factor'); `own` is what no other node tells about."""

    mean: Floats  # (m,)
    own: Floats  # (m,)
    factor: Floats  # (m, d)

    def variance(self) -> Floats:
        """(m,) of each node."""
        found: Floats = self.own + (self.factor**2).sum(axis=1)
        return found

    def covariance(self) -> Floats:
        """(m, m)."""
        found: Floats = np.diag(self.own) + self.factor @ self.factor.T
        return found

    def sample(self, scale: float, rng: np.random.Generator) -> Floats:
        """mean + scale x a draw of N(0, covariance)."""
        drawn = self.factor @ rng.standard_normal(self.factor.shape[1])
        found: Floats = self.mean + scale * (drawn + np.sqrt(self.own) * rng.standard_normal(len(self.mean)))
        return found
