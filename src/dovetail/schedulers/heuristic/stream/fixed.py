"""stream/fixed: a parallelism that never changes: that of the start, or the same for all operators.

With a number it is set at the first decision and again only if somebody else has changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer


class Fixed:
    TUNE: ClassVar = {"parallelism": (-1, 1, 2, 3, 4, 5, 6, 8, 10)}

    @dataclass(frozen=True)
    class Params:
        parallelism: int = field(default=-1, metadata={"help": "instances of every operator; -1: as at the start"})

        def __post_init__(self) -> None:
            if self.parallelism != -1 and self.parallelism < 1:
                raise ValueError(f"parallelism is {self.parallelism}; expected 1 or more, or -1: as at the start")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        assert self._info is not None, "reset comes first"
        if self.params.parallelism == -1:
            return ()
        count = len(view.parallelism)
        wanted = np.full(count, self.params.parallelism, dtype=np.int64)
        return answer(self._info, view, wanted, Reason.OUTSIDE_AGENT, np.full(count, np.nan))
