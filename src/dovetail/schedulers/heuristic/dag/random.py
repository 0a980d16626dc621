"""dag/random: any valid stage, any useful limit, each equally likely: the floor that all others must beat.

The n-th decision of a run uses mix(key + n * golden ratio), splitmix64 with a key drawn in `reset`: its high
half chooses the stage, its low half how many of the executors on offer the stage's job may get.  Counting
instead of drawing from `rng` makes Python and the compiled kernel agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, Floats, Ints, Reason

_GOLDEN, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK64, _MASK32 = (1 << 64) - 1, (1 << 32) - 1
_DRAWN_AT_RANDOM = int(Reason.DRAWN_AT_RANDOM)


class Random:
    @dataclass(frozen=True)
    class Params:
        """None."""

    def __init__(self, params: Params = Params()) -> None:
        self._key = 0
        self._count = 0

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._key = int(rng.integers(1 << 63))
        self._count = 0

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        stages = view.stage_valid.nonzero()[0].tolist()
        if not stages:
            return ()
        h = (self._key + self._count * _GOLDEN) & _MASK64
        h = ((h ^ (h >> 30)) * _MIX1) & _MASK64
        h = ((h ^ (h >> 27)) * _MIX2) & _MASK64
        h ^= h >> 31
        self._count += 1
        stage = stages[((h >> 32) * len(stages)) >> 32]
        held = int(view.job_executors[view.stage_job[stage]])
        extra = ((h & _MASK32) * int(view.source_executors)) >> 32
        return (DagDecision(stage, held + 1 + extra, -1, Reason.DRAWN_AT_RANDOM),)

    def kernel(self) -> DagKernel:
        """It goes on where `decide` is now: both from the start after `reset`."""
        return DagKernel(_random_kernel, np.zeros(0), np.array([self._key, self._count], np.int64))


def _random_kernel(view: DagView, params: Floats, state: Ints, out: Ints) -> int:
    count = 0
    for v in range(view.stage_valid.size):
        if view.stage_valid[v]:
            count += 1
    if count == 0:
        return 0
    h = np.uint64(state[0]) + np.uint64(state[1]) * np.uint64(_GOLDEN)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(_MIX1)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(_MIX2)
    h = h ^ (h >> np.uint64(31))
    state[1] += 1
    nth = np.int64(((h >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
    extra = np.int64(((h & np.uint64(_MASK32)) * np.uint64(view.source_executors)) >> np.uint64(32))
    stage = -1
    for v in range(view.stage_valid.size):
        if view.stage_valid[v]:
            if nth == 0:
                stage = v
                break
            nth -= 1
    out[0] = stage
    out[1] = view.job_executors[view.stage_job[stage]] + 1 + extra
    out[2] = -1
    out[3] = _DRAWN_AT_RANDOM
    return 1
