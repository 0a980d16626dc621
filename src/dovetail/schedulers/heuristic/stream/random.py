"""stream/random: any parallelism for any operator, each equally likely: the floor that all others must beat.

`chance` is how likely a job is changed at a decision.  What is drawn depends on a key, drawn in `reset`, and on the
time, so the same view has the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer


class Random:
    @dataclass(frozen=True)
    class Params:
        chance: float = field(default=1.0, metadata={"help": "how likely a job is changed at a decision"})

        def __post_init__(self) -> None:
            if not 0.0 <= self.chance <= 1.0:
                raise ValueError(f"chance is {self.chance}; expected a share from 0 to 1")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None
        self._key = 0

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._key = int(rng.integers(1 << 63))

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info = self._info
        assert info is not None, "reset comes first"
        rng = np.random.default_rng([self._key, round(view.time_s * 1000)])
        changes = rng.random(len(info.job_name)) < self.params.chance
        drawn = rng.integers(1, info.operator_max, endpoint=True)
        wanted = np.where(changes[info.operator_job], drawn, view.parallelism)
        return answer(info, view, wanted, Reason.DRAWN_AT_RANDOM, np.full(len(wanted), np.nan))
