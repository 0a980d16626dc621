"""Least squares with coefficients that may not be negative."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """The x >= 0 that minimises |matrix x - target|, by the active-set method of Lawson and Hanson (1974, ch. 23).

    matrix: (rows, n) with columns that are not all zero, target: (rows,), result: (n,).
    """
    scale = np.linalg.norm(matrix, axis=0)
    if not (scale > 0).all():
        raise ValueError("a column of the matrix is zero; expected at least one entry")
    scaled = matrix / scale  # columns of one length: what counts as zero is then the same for all of them
    tolerance = 1e-10 * max(float(np.linalg.norm(target)), 1e-300)
    size = matrix.shape[1]
    x = np.zeros(size)
    free = np.zeros(size, dtype=np.bool_)
    for _ in range(30 * size):
        slope = scaled.T @ (target - scaled @ x)
        slope[free] = -np.inf
        if free.all() or slope.max() <= tolerance:
            break
        free[slope.argmax()] = True
        x = _step(scaled, target, x, free)
    return np.asarray(x / scale, dtype=np.float64)


def _step(matrix: Floats, target: Floats, x: Floats, free: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Floats:
    """The best x that is zero outside `free`; coefficients that would turn negative on the way leave `free`."""
    while True:
        best = np.zeros_like(x)
        best[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
        sinking = free & (best <= 0)
        if not sinking.any():
            return best
        share = float((x[sinking] / np.maximum(x[sinking] - best[sinking], 1e-300)).min())
        x = np.maximum(x + share * (best - x), 0.0)
        free &= x > 1e-12
        x[~free] = 0.0
