"""Adam (Kingma and Ba, 2015) on parameters held as named arrays, with the length of a step's gradient limited."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats

MEAN, SQUARE, TINY = 0.9, 0.99, 1e-8


class Adam:
    def __init__(self, parameters: dict[str, Floats], rate: float) -> None:
        self.rate = rate  # may be changed between steps
        self._steps = 0
        self._mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._square = {name: np.zeros_like(value) for name, value in parameters.items()}

    def step(self, parameters: dict[str, Floats], gradient: dict[str, Floats], longest: float) -> None:
        """Against the gradient; `parameters` gets new arrays."""
        length = float(np.sqrt(sum(float((value**2).sum()) for value in gradient.values())))
        shorter = min(1.0, longest / max(length, TINY))
        self._steps += 1
        for name, value in gradient.items():
            part = shorter * value
            self._mean[name] = MEAN * self._mean[name] + (1 - MEAN) * part
            self._square[name] = SQUARE * self._square[name] + (1 - SQUARE) * part**2
            mean = self._mean[name] / (1 - MEAN**self._steps)
            square = self._square[name] / (1 - SQUARE**self._steps)
            parameters[name] = parameters[name] - self.rate * mean / (np.sqrt(square) + TINY)

    def state(self) -> dict[str, Floats]:
        found = {f"mean/{name}": value for name, value in self._mean.items()}
        found |= {f"square/{name}": value for name, value in self._square.items()}
        return {**found, "steps": np.array([float(self._steps)])}

    def restore(self, state: dict[str, Floats]) -> None:
        self._steps = int(state["steps"][0])
        self._mean = {name: state[f"mean/{name}"] for name in self._mean}
        self._square = {name: state[f"square/{name}"] for name in self._square}
