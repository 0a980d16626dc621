"""stream/quantile: enough for nearly all of the coming hour.  A rule of this project, without learning.

Rules that follow the mean of what came are late when rates rise, and short in every minute above the mean.  This one
remembers the rates of each job, and asks for what does for a quantile of those to come.  With `m` the mean of the last
`ahead_s` seconds:

    growth = mean of the `ahead_s` that followed a day ago / mean of those before them; 1, until so much is remembered
    burst  = the `quantile` of rate / mean of its `ahead_s`, of all snapshots of the last day; 1 at least
    wanted = ceil(demand * growth * burst / utilisation)

where demand is that of m, by true rates (`measured`).  A job is left alone while no operator has too few for `1 - hold`
of that, and none has more than does for `1 + hold` of it: a restart costs latency, and an idle instance little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import DAY_S, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.features.stream_memory import RateMemory
from dovetail.schedulers.heuristic.stream.answer import answer, instances, of_jobs
from dovetail.schedulers.heuristic.stream.measured import Meter


class Quantile:
    TUNE: ClassVar = {
        "quantile": (0.8, 0.9, 0.95, 0.98, 0.99, 1.0),
        "utilisation": (0.7, 0.8, 0.9, 1.0),
        "hold": (0.0, 0.1, 0.2, 0.3, 0.5),
    }

    @dataclass(frozen=True)
    class Params:
        quantile: float = field(
            default=0.99, metadata={"help": "share of the time to come that it is to be enough for"}
        )
        utilisation: float = field(default=0.8, metadata={"help": "share of its time an instance is to be busy then"})
        hold: float = field(default=0.1, metadata={"help": "how far off a job is left as it is, as a share"})
        ahead_s: float = field(default=3600.0, metadata={"help": "time to come that counts; an interval at least"})

        def __post_init__(self) -> None:
            for name in ("quantile", "utilisation"):
                if not 0.0 < getattr(self, name) <= 1.0:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected a share above 0, 1 at most")
            if not 0.0 <= self.hold < 1.0:
                raise ValueError(f"hold is {self.hold}; expected a share from 0 to below 1")
            if not 0.0 < self.ahead_s <= DAY_S:
                raise ValueError(f"ahead_s is {self.ahead_s}; expected seconds, above 0, a day at most")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._meter = Meter(info)
        self._memory = RateMemory(info)

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info, params, now = self._info, self.params, view.parallelism
        assert info is not None, "reset comes first"
        self._memory.add(view)
        ahead = max(1, round(max(params.ahead_s, info.interval_s) / info.snapshot_s))
        measured = self._meter.measure(view, min(ahead, len(view.op_rate)))
        known = np.isfinite(measured.demand)
        factor = self._memory.growth(ahead) * self._memory.burst(ahead, params.quantile)
        demand = np.where(known, measured.demand, 0.0) * factor[info.operator_job]
        need = demand / params.utilisation
        wanted = np.where(known, np.clip(instances(need), 1, info.operator_max), now)
        fewer = now < np.minimum(instances(need * (1.0 - params.hold)), info.operator_max)
        more = now > np.maximum(instances(need * (1.0 + params.hold)), 1)
        acts = of_jobs(info, known & (fewer | more)) & ~view.job_down
        wanted = np.where(acts[info.operator_job], wanted, now)
        return answer(info, view, wanted, Reason.TRUE_RATE, np.where(known, demand, np.nan))
