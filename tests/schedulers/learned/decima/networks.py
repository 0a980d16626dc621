"""Small networks with random weights, for the tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.schedulers.learned.decima.shape import DecimaShape

SHAPES = {
    "informed": DecimaShape(embedding=5, hidden=(7, 6), head=(9,)),
    "classes": DecimaShape("classes-1", embedding=5, hidden=(7, 6), head=(9,)),
    "published": DecimaShape("decima-1", 8, (32, 16), (32, 16), limit_sees_stage=False, limit_columns=1),
    "no graph": DecimaShape("wide-1", embedding=4, hidden=(6,), head=(8, 4), graph=False),
}


def random_parameters(shape: DecimaShape, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return {
        one.name: (rng.normal(size=one.shape) / np.sqrt(one.shape[-1])).astype(np.float32) for one in shape.parameters()
    }
