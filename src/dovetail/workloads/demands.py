"""Memory demands for workloads that were measured or made without any."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.seeds import SeedTree


def memory_demands(num_stages: int, seeds: SeedTree | None) -> Floats:
    """(num_stages,) a share of the largest executor for each stage: uniform in (0, 1], as Decima's multi-resource
    experiments have it; without seeds 0, so that every executor fits.
    """
    if seeds is None:
        return np.zeros(num_stages)
    return 1.0 - seeds.child("memory").generator().random(num_stages)
