"""The model of a training job, in torch, over one flat vector of parameters.

Parameters and gradients of the modules are views of two flat arrays, so that a shard of them is a slice, and nothing
is gathered or scattered for a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Ints
from dovetail.core.extras import require
from dovetail.execution.elastic.data import CLASSES, FEATURES, PIXELS, SHAPES, Samples

NEEDED_BY = "training for real"

Vector = NDArray[np.float32]


def load_torch() -> Any:
    """The module, with one thread: workers are as many processes as they need."""
    torch = require("torch", NEEDED_BY)
    torch.set_num_threads(1)
    return torch


class Network:
    """A model with its first parameters, drawn by `seed`; `open` makes it."""

    def __init__(self, torch: Any, module: Any, parameters: Vector, gradients: Vector) -> None:
        self._torch = torch
        self._module = module
        self.parameters = parameters  # (P,) may be written to
        self.gradients = gradients  # (P,) of the last mini-batch

    @classmethod
    def open(cls, model: str, seed: int) -> Network:
        torch = load_torch()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = _perceptron(torch.nn) if model == "mlp" else _convolutional(torch.nn)
        size = sum(parameter.numel() for parameter in module.parameters())
        flat, gradients = torch.empty(size), torch.zeros(size)
        first = 0
        for parameter in module.parameters():
            part = slice(first, first + parameter.numel())
            flat[part] = parameter.data.reshape(-1)
            parameter.data = flat[part].view(parameter.shape)
            parameter.grad = gradients[part].view(parameter.shape)
            first = part.stop
        return cls(torch, module, flat.numpy(), gradients.numpy())

    def gradient(self, points: Samples, classes: Ints) -> float:
        """The loss of a mini-batch; its gradient is in `gradients` afterwards."""
        self.gradients[:] = 0.0
        loss = self._loss(points, classes)
        loss.backward()
        return float(loss.detach())

    def loss(self, points: Samples, classes: Ints) -> float:
        with self._torch.no_grad():
            return float(self._loss(points, classes))

    @contextmanager
    def at(self, parameters: Vector) -> Iterator[None]:
        """With other parameters for a while."""
        before = self.parameters.copy()
        self.parameters[:] = parameters
        try:
            yield
        finally:
            self.parameters[:] = before

    def _loss(self, points: Samples, classes: Ints) -> Any:
        torch = self._torch
        scores = self._module(torch.from_numpy(points))
        return torch.nn.functional.cross_entropy(scores, torch.from_numpy(classes))


def _perceptron(nn: Any) -> Any:
    """9,794 parameters."""
    return nn.Sequential(
        nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, 40), nn.ReLU(), nn.Linear(40, CLASSES)
    )  # fmt: skip


def _convolutional(nn: Any) -> Any:
    """2,118 parameters."""
    side = PIXELS // 4
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * side * side, SHAPES),
    )
