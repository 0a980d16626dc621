"""How fast parameter-server training is with so many workers and parameter servers.

The form is that of Optimus (EuroSys 2018).  A step takes

    sync    a / w + b + c / p + d w / p + e w + f p      seconds, for one mini-batch that the w workers divide
    async           b + c / p + d w / p + e w + f p      seconds, for one mini-batch of each of the w workers

where a is the computation, b what happens once in a step, c the transfer of a worker's gradients to p servers, d the
servers' share of the transfers of all, and e and f the connections.  No coefficient is negative.  `c / p` is ours:
transfers of a single worker shorten with p, too, and the measured speeds are fitted better with it (median error of
resnet-50 5.4 % instead of 6.6 %).

They are fitted by non-negative least squares to relative errors, so slow and fast allocations count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dovetail.cluster.least_squares import non_negative
from dovetail.core.dag import Floats
from dovetail.core.errors import DovetailError

Mode = Literal["sync", "async"]
TERMS: dict[Mode, tuple[str, ...]] = {
    "sync": ("1/w", "1", "1/p", "w/p", "w", "p"),
    "async": ("1", "1/p", "w/p", "w", "p"),
}
"""What the coefficients belong to, in order."""


@dataclass(frozen=True)
class SpeedPoint:
    """Mini-batches per second of the whole job, measured with so many workers and parameter servers."""

    workers: int
    servers: int
    batches_per_s: float


@dataclass(frozen=True)
class SpeedModel:
    """Speed of one kind of job.  Times of a step in seconds, by the terms of `TERMS`."""

    mode: Mode
    coefficients: tuple[float, ...]

    def step_s(self, workers: Floats | float, servers: Floats | float) -> Floats:
        """Seconds of a step; elementwise."""
        terms = _terms(self.mode, np.asarray(workers, np.float64), np.asarray(servers, np.float64))
        return np.asarray(terms @ np.array(self.coefficients), dtype=np.float64)

    def batches_per_s(self, workers: Floats | float, servers: Floats | float) -> Floats:
        """Mini-batches per second of the whole job; elementwise."""
        done = np.asarray(workers, np.float64) if self.mode == "async" else 1.0
        return np.asarray(done / self.step_s(workers, servers), dtype=np.float64)

    def worker_s(self, workers: int, servers: int) -> float:
        """Seconds of a worker that a mini-batch takes: computation, transfers and waiting."""
        return workers / float(self.batches_per_s(workers, servers))


@dataclass(frozen=True)
class SpeedFit:
    """A fitted model, and how far it is from what was measured."""

    model: SpeedModel
    points: int
    median_error: float  # |predicted / measured - 1|
    p90_error: float
    r_squared: float  # of the speeds: 1 = all of their variation is explained, 0 = no better than their mean


def fit_speed(mode: Mode, points: Sequence[SpeedPoint]) -> SpeedFit:
    """The model that is closest to the measurements."""
    known = [point for point in points if point.workers >= 1 and point.servers >= 1 and point.batches_per_s > 0]
    if len(known) < len(points):
        raise DovetailError(
            f"{len(points) - len(known)} measured speeds are without worker, parameter server or speed; leave them out"
        )
    if len({(point.workers, point.servers) for point in points}) < 2:
        raise DovetailError("speeds at one allocation only; a fit needs at least two numbers of workers and servers")
    workers, servers, speed = np.array([(p.workers, p.servers, p.batches_per_s) for p in points], np.float64).T
    step_s = (workers if mode == "async" else 1.0) / speed
    terms = _terms(mode, workers, servers)
    coefficients = non_negative(terms / step_s[:, None], np.ones(len(points)))
    model = SpeedModel(mode, tuple(coefficients.tolist()))
    predicted = model.batches_per_s(workers, servers)
    error = np.abs(predicted / speed - 1)
    spread = float(((speed - speed.mean()) ** 2).sum())
    return SpeedFit(
        model=model,
        points=len(points),
        median_error=float(np.median(error)),
        p90_error=float(np.quantile(error, 0.9)),
        r_squared=1.0 - float(((predicted - speed) ** 2).sum()) / spread if spread > 0 else 0.0,
    )


def held_out_error(mode: Mode, points: Sequence[SpeedPoint]) -> float:
    """Median error at numbers of workers and servers that the model was not fitted to.

    Each of them is left out in turn and predicted from all others; nan with fewer than three.
    """
    where = {(point.workers, point.servers) for point in points}
    if len(where) < 3:
        return float("nan")
    errors: list[float] = []
    for left_out in sorted(where):
        model = fit_speed(mode, [p for p in points if (p.workers, p.servers) != left_out]).model
        predicted = float(model.batches_per_s(*left_out))
        errors += [abs(predicted / p.batches_per_s - 1) for p in points if (p.workers, p.servers) == left_out]
    return float(np.median(errors))


def _terms(mode: Mode, workers: Floats, servers: Floats) -> Floats:
    """(..., terms)"""
    workers, servers = np.broadcast_arrays(workers, servers)
    one = np.ones_like(workers)
    columns = (one / workers, one, one / servers, workers / servers, workers, servers)
    return np.stack(columns if mode == "sync" else columns[1:], axis=-1)
