"""Generated data to train on: a chunk is the same wherever and whenever it is made.

`mlp`: points around the centres of ten classes in 32 dimensions, so close that they overlap.  `cnn`: pictures of
12 x 12 pixels, one of six strokes near the middle, under noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Ints
from dovetail.core.seeds import SeedTree
from dovetail.execution.elastic.training_job import TrainingJob

FEATURES, CLASSES = 32, 10
PIXELS, STROKE, SHAPES, MARGIN = 12, 5, 6, 2
HELD_OUT = 512  # samples that nobody trains on

Samples = NDArray[np.float32]


class Data:
    """Samples of one job, made chunk by chunk as they are wanted."""

    def __init__(self, job: TrainingJob) -> None:
        self._job = job
        self._seeds = SeedTree(job.seed).child("training data", job.model)
        self._chunks: dict[int, tuple[Samples, Ints]] = {}

    def batch(self, chunk: int, number: int) -> tuple[Samples, Ints]:
        """The mini-batch `number` of a chunk, counted over all epochs."""
        if chunk not in self._chunks:
            samples = self._job.batches * self._job.batch_size
            self._chunks[chunk] = self._make(samples, self._seeds.child("chunk", chunk).generator())
        points, classes = self._chunks[chunk]
        first = number % self._job.batches * self._job.batch_size
        rows = slice(first, first + self._job.batch_size)
        return points[rows], classes[rows]

    def held_out(self) -> tuple[Samples, Ints]:
        return self._make(HELD_OUT, self._seeds.child("held out").generator())

    def _make(self, samples: int, rng: np.random.Generator) -> tuple[Samples, Ints]:
        if self._job.model == "mlp":
            centres = self._seeds.child("centres").generator().normal(size=(CLASSES, FEATURES))
            classes = rng.integers(0, CLASSES, samples)
            points = centres[classes] + 1.5 * rng.normal(size=(samples, FEATURES))
            return points.astype(np.float32), classes
        strokes = _strokes()
        classes = rng.integers(0, SHAPES, samples)
        pictures = 0.3 * rng.normal(size=(samples, 1, PIXELS, PIXELS))
        corners = rng.integers(MARGIN, PIXELS - STROKE - MARGIN + 1, (samples, 2))
        for picture, shape, (top, left) in zip(pictures, classes, corners, strict=True):
            picture[0, top : top + STROKE, left : left + STROKE] += 2.0 * strokes[shape]
        return pictures.astype(np.float32), classes


def _strokes() -> NDArray[Any]:
    """Lying, standing, two diagonals, a cross and a frame."""
    line = np.arange(STROKE)
    shapes = np.zeros((SHAPES, STROKE, STROKE))
    shapes[0, STROKE // 2, :] = 1.0
    shapes[1, :, STROKE // 2] = 1.0
    shapes[2, line, line] = 1.0
    shapes[3, line, STROKE - 1 - line] = 1.0
    shapes[4] = np.maximum(shapes[0], shapes[1])
    shapes[5] = 1.0
    shapes[5, 1:-1, 1:-1] = 0.0
    return shapes
