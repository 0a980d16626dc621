"""How fast training is on this machine: measured with several numbers of workers and servers, and fitted.

On a machine with two processors real work cannot become faster with more than two workers.  A job may therefore
pretend to use a GPU (`TrainingJob.pad_s`): while it sleeps, others compute.  Every figure here includes that time, and
says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.cluster.elastic_speed import SpeedFit, SpeedPoint, fit_speed, held_out_error
from dovetail.execution.elastic.coordinator import Coordinator
from dovetail.execution.elastic.drive import one_slot
from dovetail.execution.elastic.fleet import Fleet
from dovetail.execution.elastic.snapshot import Snapshot
from dovetail.execution.elastic.training_job import MAX_BATCHES, TrainingJob

WARM_UP_S = 0.3
CHUNK_BATCHES = 50


@dataclass(frozen=True)
class Calibration:
    """Of one model, with so much pretended GPU time."""

    model: str
    pad_s: float
    batch_size: int
    points: tuple[SpeedPoint, ...]

    def fit(self) -> SpeedFit:
        return fit_speed("async", self.points)

    def held_out_error(self) -> float | None:
        """Median error where the model was not fitted; None: measured at too few numbers of workers and servers."""
        error = held_out_error("async", self.points)
        return None if math.isnan(error) else error

    def to_json(self) -> dict[str, Any]:
        fit = self.fit()
        return {
            "model": self.model,
            "pad_s": self.pad_s,
            "batch_size": self.batch_size,
            "coefficients": dict(zip(("1", "1/p", "w/p", "w", "p"), fit.model.coefficients, strict=True)),
            "median_error": fit.median_error,
            "p90_error": fit.p90_error,
            "held_out_median_error": self.held_out_error(),
            "points": [
                {
                    "workers": point.workers,
                    "servers": point.servers,
                    "samples_per_s": point.batches_per_s * self.batch_size,
                    "fitted_samples_per_s": float(fit.model.batches_per_s(point.workers, point.servers))
                    * self.batch_size,
                }
                for point in self.points
            ],
        }


def sizes(workers: int, servers: int) -> list[tuple[int, int]]:
    """Numbers of workers and servers worth measuring: powers of two, and the largest."""
    return [(w, p) for w in _powers(workers) for p in _powers(min(w, servers))]


def _powers(largest: int) -> Iterator[int]:
    number = 1
    while number < largest:
        yield number
        number *= 2
    yield largest


def measure(fleet: Fleet, model: str, pad_s: float, workers: int, servers: int, seconds: float) -> SpeedPoint:
    """Mini-batches per second, after a short warm-up."""
    epochs = MAX_BATCHES // (workers * CHUNK_BATCHES)
    job = TrainingJob(model, seed=0, epochs=epochs, chunks=workers, batches=CHUNK_BATCHES, pad_s=pad_s)
    coordinator = Coordinator(job, Snapshot.first(job), fleet)
    one_slot(fleet, coordinator, workers, servers, WARM_UP_S)
    tally, elapsed_s = one_slot(fleet, coordinator, workers, servers, seconds)
    coordinator.end()
    return SpeedPoint(workers, servers, tally.batches / elapsed_s)


def calibrate(
    fleet: Fleet,
    model: str,
    pad_s: float,
    where: Sequence[tuple[int, int]],
    seconds: float,
    tell: Callable[[SpeedPoint], None] = lambda point: None,
) -> Calibration:
    points = []
    for workers, servers in where:
        points.append(measure(fleet, model, pad_s, workers, servers, seconds))
        tell(points[-1])
    return Calibration(model, pad_s, TrainingJob.batch_size, tuple(points))


def as_table(calibrations: Sequence[Calibration]) -> str:
    """Measured beside fitted."""
    lines = []
    for one in calibrations:
        fit = one.fit()
        pad = f", {1000 * one.pad_s:g} ms of pretended GPU time in each mini-batch" if one.pad_s else ""
        lines.append(f"{one.model}: samples per second, mini-batches of {one.batch_size}{pad}")
        lines.append(f"  {'workers':>7}  {'servers':>7}  {'measured':>9}  {'model':>9}  {'error':>7}")
        for point in one.points:
            fitted = float(fit.model.batches_per_s(point.workers, point.servers))
            error = f"{100 * (fitted / point.batches_per_s - 1):+.1f} %"
            measured, model = point.batches_per_s * one.batch_size, fitted * one.batch_size
            lines.append(f"  {point.workers:>7}  {point.servers:>7}  {measured:>9,.0f}  {model:>9,.0f}  {error:>7}")
        terms = zip(("", " / p", " w / p", " w", " p"), fit.model.coefficients, strict=True)
        formula = " + ".join(f"{1000 * value:.3g}{term}" for term, value in terms if value > 0)
        lines.append(f"  a worker's mini-batch takes {formula} ms; median error {100 * fit.median_error:.1f} %")
        held_out = one.held_out_error()
        if held_out is not None:
            lines.append(f"  left out of the fit in turn and predicted from all others: {100 * held_out:.1f} %")
    return "\n".join(lines)
