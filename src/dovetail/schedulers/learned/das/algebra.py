"""The little linear algebra that deciding needs, compiled: numba's own would need scipy, and larger matrices to pay."""

from __future__ import annotations

import numpy as np
from numba import njit

from dovetail.schedulers.learned.das.jit import OPTIONS


@njit(**OPTIONS)
def product(a, b):
    """(n, k) times (k, m)."""
    found = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1]):
                found[i, j] += factor * b[k, j]
    return found


@njit(**OPTIONS)
def by_vector(a, x):
    """(n, k) times (k,)."""
    found = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * x[k]
        found[i] = total
    return found


@njit(**OPTIONS)
def inner(a):
    """A' A, (k, k) of (n, k)."""
    size = a.shape[1]
    found = np.zeros((size, size))
    for i in range(a.shape[0]):
        for k in range(size):
            factor = a[i, k]
            for j in range(size):
                found[k, j] += factor * a[i, j]
    return found


@njit(**OPTIONS)
def cholesky(a):
    """Lower triangular L with L L' = A, which is symmetric and positive definite."""
    size = a.shape[0]
    lower = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(total) if i == j else total / lower[j, j]
    return lower


@njit(**OPTIONS)
def solve_lower(lower, b):
    """x with L x = b; (k,)."""
    x = b.copy()
    for i in range(len(x)):
        for k in range(i):
            x[i] -= lower[i, k] * x[k]
        x[i] /= lower[i, i]
    return x


@njit(**OPTIONS)
def solve_upper(lower, b):
    """x with L' x = b; (k,)."""
    x = b.copy()
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            x[i] -= lower[k, i] * x[k]
        x[i] /= lower[i, i]
    return x
