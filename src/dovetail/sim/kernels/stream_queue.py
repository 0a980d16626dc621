"""How much an operator does when so many records are at it: L(r) + K d r = y, solved for r.

With A = c + K d (`slope`), F(r) = A r + v r^e / (1 - r) is convex and rises from 0.  As e >= 2, r^e is at most r^2, and
with r^2 in its place the root is that of a quadratic: a lower bound (exact for c = 1).  y / A is an upper one.
"""

from __future__ import annotations

from math import sqrt

from dovetail.sim.kernels.jit import kernel
from dovetail.sim.kernels.stream_state import (
    AT_FIRST,
    AT_R,
    AT_REACH,
    AT_SECOND,
    AT_Y,
    EXPONENT,
    VARIABILITY,
)

NEAR = 1e-4  # so little, relative to r and 1 - r, is left to the first two terms of a series: an error of its cube
CLOSE = 1e-5  # a correction as small as this, likewise, is the last: the next would be its cube
ROUNDING = 1e-12
MOST_ITERATIONS = 60


@kernel
def lowest(y, slope, variability):
    """A lower bound of the root."""
    return 2.0 * y / (slope + y + sqrt((slope - y) * (slope - y) + 4.0 * variability * y))


@kernel
def solved(op_floats, i, first_row, slope, y, guess):
    """r of operator i to the last digits, by Halley's method between bounds; what the series needs is kept."""
    variability = op_floats[VARIABILITY, i]
    exponent = op_floats[EXPONENT, i]
    low = lowest(y, slope, variability)
    high = min(1.0, y / slope * (1.0 + ROUNDING))
    r = guess
    if not low < r < high:
        r = low
    first = slope
    second = 0.0
    for _ in range(MOST_ITERATIONS):
        idle = 1.0 - r
        if idle <= 0.0:  # so many wait that 1 - r is less than rounding
            break
        queue = variability * r**exponent / idle
        grows = exponent / r + 1.0 / idle
        miss = slope * r + queue - y
        first = slope + queue * grows
        second = 0.5 * queue * (grows * grows - exponent / (r * r) + 1.0 / (idle * idle))
        if miss > 0.0:
            high = min(high, r)
        else:
            low = max(low, r)
        move = -miss / first
        move /= max(0.5, 1.0 + move * second / first)
        reached = max(low, r + move)
        if reached > high:
            r = 0.5 * (low + high)
            continue
        move = reached - r
        r = reached
        first += 2.0 * second * move
        if abs(move) <= CLOSE * min(r, 1.0 - r):
            break
    op_floats[first_row + AT_Y, i] = y
    op_floats[first_row + AT_R, i] = r
    op_floats[first_row + AT_FIRST, i] = 1.0 / first
    op_floats[first_row + AT_SECOND, i] = second / first
    op_floats[first_row + AT_REACH, i] = NEAR * min(r, 1.0 - r)
    return r


@kernel
def share(op_floats, i, first_row, slope, y):
    """r in [0, 1] with F(r) = y; `first_row`, 0 or STANDING, says where the last solution is kept."""
    if y <= 0.0:
        return 0.0
    if op_floats[VARIABILITY, i] == 0.0:
        return min(1.0, y / slope)
    move = (y - op_floats[first_row + AT_Y, i]) * op_floats[first_row + AT_FIRST, i]
    if abs(move) <= op_floats[first_row + AT_REACH, i]:  # almost as last time, as in most steps
        return op_floats[first_row + AT_R, i] + move - op_floats[first_row + AT_SECOND, i] * move * move
    return solved(op_floats, i, first_row, slope, y, op_floats[first_row + AT_R, i] + move)
