"""stream/static: the best parallelism that never changes: an oracle among the fixed ones, no real scheduler.

It is told the rates of the whole run (`CLAIRVOYANT`) and looks once, at the first decision, for the fixed parallelism
with the highest reward over all of it: by steepest ascent, operator by operator, with latency and utilisation as in
`queue_model`; what operators can do is learned from the first interval (`queue_fit`).  What it is worth to change the
parallelism at all is the distance between this and the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer
from dovetail.schedulers.optimise.stream.queue_fit import QueueFit
from dovetail.schedulers.optimise.stream.queue_model import JobModel, Outlook
from dovetail.schedulers.optimise.stream.told import at_lowest_price, rates_between, told


class Static:
    CLAIRVOYANT: ClassVar = True  # the world it is run in hands it `StreamInfo.future`

    @dataclass(frozen=True)
    class Params:
        bins: int = field(default=2000, metadata={"help": "parts into which the run is cut, at most"})
        noise: float = field(default=0.05, metadata={"help": "spread of service times that it reckons with"})

        def __post_init__(self) -> None:
            if self.bins < 1:
                raise ValueError(f"bins is {self.bins}; expected 1 or more")
            if not 0.0 <= self.noise < np.inf:
                raise ValueError(f"noise is {self.noise}; expected 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None
        self._best: Ints | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        told(info, "stream/static")
        self._info = info
        self._best = None

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info = self._info
        assert info is not None, "reset comes first"
        if self._best is None:
            self._best = self._search(view)
        return answer(info, view, self._best, Reason.BEST_FIXED, np.full(len(self._best), np.nan))

    def _search(self, view: StreamView) -> Ints:
        """Within the slots: an instance has the smallest price at which all jobs together do not want more."""
        info = self._info
        assert info is not None
        fit = QueueFit(info)
        fit.add(view, len(view.op_rate))
        views = [
            rest_of_run(info, JobModel.of(info, job, fit, self.params.noise), view.time_s, self.params.bins)
            for job in range(len(info.job_name))
        ]

        def plan(price: float) -> Ints:
            found = view.parallelism.copy()
            for outlook, bins in views:
                found[outlook.model.operators] = outlook.best(bins, price)
            return found

        return at_lowest_price(plan, info.slots)


def rest_of_run(info: StreamInfo, model: JobModel, time_s: float, bins: int) -> tuple[Outlook, int]:
    """What is to come from here to the end, in so many bins at most; and the bins of an interval."""
    future = told(info, "a plan for all of a run")
    end_s = future.rate.shape[1] * future.bin_s
    parts = max(1, round(info.interval_s / 60.0))  # of an interval
    while parts > 1 and (end_s - time_s) / info.interval_s * parts > bins:
        parts -= 1
    rate = rates_between(future, model.job, time_s, end_s, info.interval_s / parts)
    return Outlook(model, rate, info.interval_s / parts), parts
