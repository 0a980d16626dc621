"""Ridge regression over a grid of penalties and polynomial degrees: cross-validated, then the best refitted.

    python examples/hyper_parameter_sweep.py
    python examples/hyper_parameter_sweep.py 40 12      # penalties, degrees

A hundred short tasks that need nothing of each other, and one that needs them all.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from dovetail.execution import Engine, Job

SAMPLES, FOLDS = 600, 5


class Setting(NamedTuple):
    degree: int
    penalty: float


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, SAMPLES)
    return x, np.sin(2 * x) + 0.3 * x + rng.normal(0, 0.3, SAMPLES)


def fit(x: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    columns = np.vander(x / 3, setting.degree + 1)
    return np.linalg.solve(columns.T @ columns + setting.penalty * np.eye(columns.shape[1]), columns.T @ y)


def error(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((np.vander(x / 3, len(weights)) @ weights - y) ** 2))


def cross_validate(setting: Setting) -> float:
    x, y = data()
    fold = np.arange(SAMPLES) % FOLDS
    return float(
        np.mean([error(fit(x[fold != k], y[fold != k], setting), x[fold == k], y[fold == k]) for k in range(FOLDS)])
    )


def refit(settings: list[Setting], inputs: dict[str, Any]) -> tuple[Setting, float, np.ndarray]:
    scores = list(inputs["try"])
    best = int(np.argmin(scores))
    return settings[best], scores[best], fit(*data(), settings[best])


def main(penalties: str = "12", degrees: str = "10") -> None:
    grid = [
        Setting(degree, float(penalty))
        for degree in range(1, int(degrees) + 1)
        for penalty in np.logspace(-6, 2, int(penalties))
    ]
    job = Job("sweep")
    tried = job.stage(cross_validate, tasks=grid, name="try", retries=1, timeout_s=60)
    best = job.stage(refit, tasks=[grid], name="refit", after=[tried], inputs=True)
    with Engine() as engine:
        ((setting, score, weights),) = engine.submit(job).results(best)
    print(f"{len(grid)} settings tried; best: degree {setting.degree}, penalty {setting.penalty:.2g}")
    print(f"mean squared error {score:.4f} in cross-validation, {len(weights)} weights")


if __name__ == "__main__":
    main(*sys.argv[1:])
