"""The policy network of gpu/dl2: two hidden layers over all jobs at once, a masked softmax over the actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Bools, Floats
from dovetail.schedulers.learned.gpu_baselines.dl2_features import ACTIONS, COLUMNS, JOBS

WIDTH = JOBS * len(COLUMNS)


class PolicyNetwork(NamedTuple):
    w1: Floats  # (120, H)
    b1: Floats
    w2: Floats  # (H, H)
    b2: Floats
    w3: Floats  # (H, 61)
    b3: Floats

    def logits(self, inputs: Floats, mask: Bools) -> Floats:
        """(61,) -inf where the mask forbids."""
        hidden = np.maximum(inputs @ self.w1 + self.b1, 0.0)
        hidden = np.maximum(hidden @ self.w2 + self.b2, 0.0)
        found: Floats = np.where(mask, hidden @ self.w3 + self.b3, -np.inf)
        return found


def shapes(hidden: int) -> dict[str, tuple[int, ...]]:
    """Of the parameters, by name."""
    return {
        "w1": (WIDTH, hidden),
        "b1": (hidden,),
        "w2": (hidden, hidden),
        "b2": (hidden,),
        "w3": (hidden, ACTIONS),
        "b3": (ACTIONS,),
    }
