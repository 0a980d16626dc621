"""stream/ds2: three steps are all you need (Kalavri et al., OSDI 2018): as many instances as the true rates call for.

With `true_i` the rate of an instance while it is busy and `target_i` what comes to the operator if every one before it
keeps up (`measured`), one pass from sources to sinks gives

    wanted_i = ceil(target_i / (true_i * utilisation))

so a job is set right in one step wherever rates grow in proportion to instances.  Published: utilisation 1, that is,
exactly enough for the mean of what came, and whoever keeps up on average may have long queues.

Departures: `utilisation` is a parameter; where the original acts when the rate is off its target several times in a
row, `hold` leaves a job alone while every operator would be busy for a share of its time that is within `hold` of the
utilisation, and below 1.  Operators that were not measured yet keep what they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer, instances, of_jobs
from dovetail.schedulers.heuristic.stream.measured import Meter


class Ds2:
    TUNE: ClassVar = {
        "utilisation": (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        "hold": (0.0, 0.1, 0.2, 0.3, 0.4),
        "window_s": (0.0, 300.0, 900.0),
    }

    @dataclass(frozen=True)
    class Params:
        utilisation: float = field(default=1.0, metadata={"help": "share of its time an instance is to be busy"})
        hold: float = field(default=0.0, metadata={"help": "how far off that share a job is left as it is"})
        window_s: float = field(default=0.0, metadata={"help": "history it measures; 0: since the last decision"})

        def __post_init__(self) -> None:
            if not 0.0 < self.utilisation <= 1.0:
                raise ValueError(f"utilisation is {self.utilisation}; expected a share above 0, 1 at most")
            if not 0.0 <= self.hold < 1.0:
                raise ValueError(f"hold is {self.hold}; expected a share from 0 to below 1")
            if not 0.0 <= self.window_s < np.inf:
                raise ValueError(f"window_s is {self.window_s}; expected seconds, 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._meter = Meter(info)

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info, params = self._info, self.params
        assert info is not None, "reset comes first"
        demand = self._meter.measure(view, self._meter.rows(view, params.window_s)).demand
        known = np.isfinite(demand)
        filled = np.where(known, demand, 0.0)
        enough = np.clip(instances(filled / params.utilisation), 1, info.operator_max)
        wanted = np.where(known, enough, view.parallelism)
        share = filled / view.parallelism
        off = (share < params.utilisation - params.hold) | (share > min(params.utilisation + params.hold, 1.0))
        if params.hold == 0.0:
            off[:] = True
        acts = of_jobs(info, off & (wanted != view.parallelism)) & ~view.job_down
        wanted = np.where(acts[info.operator_job], wanted, view.parallelism)
        return answer(info, view, wanted, Reason.TRUE_RATE, demand)
