"""What all generators of streaming jobs have as parameters: rates, the runtime, and the setting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dovetail.core.stream import WEEK_S
from dovetail.workloads.stream_jobs import CHECKPOINT_S, INSTANCES, RUNTIME_S, SLOTS

Runtime = Literal["warm", "cold", "python"]


@dataclass(frozen=True)
class StreamPreset:
    """Parameters of a job, and of the setting it was made for."""

    rate: float = 1000.0  # records a second, on average
    rates: str = "web"  # how they vary: the name of a generator, or a directory
    jitter: float = 0.0  # of each bin, drawn anew: coefficient of variation of a factor of mean 1
    runtime: Runtime = "warm"  # what a rescale costs: a warm JVM, a cold one, or Python
    restart_s: float | None = None  # instead of what the runtime says
    checkpoint_s: float = CHECKPOINT_S
    slo_s: float | None = None  # none: three times the latency at a utilisation of 0.7, 2 s at least (`with_slo`)
    instances: int = INSTANCES  # of an operator, at most
    slots: int | None = None  # none: 200, or as many as its operators can have
    duration_s: float = WEEK_S
    interval_s: float = 3600.0

    def __post_init__(self) -> None:
        for name, least, most in (
            ("rate", 1e-6, 1e9),
            ("jitter", 0, 3),
            ("restart_s", 0, 1e5),
            ("checkpoint_s", 1, 1e6),
            ("slo_s", 1e-3, 1e6),
            ("instances", 1, 1000),
            ("slots", 1, 10**6),
            ("duration_s", 1, 1e9),
            ("interval_s", 1, 1e7),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} is {value:g}; expected {least:g} to {most:g}")

    @property
    def rescale_s(self) -> float:
        return RUNTIME_S[self.runtime] if self.restart_s is None else self.restart_s

    def job(self) -> dict[str, float]:
        """What a `StreamBuilder` asks for; the SLO follows when all operators are there."""
        return {
            "rate": self.rate,
            "restart_s": self.rescale_s,
            "slo_s": math.nan,
            "checkpoint_s": self.checkpoint_s,
        }

    def slots_for(self, operators: int) -> int:
        return min(SLOTS, operators * self.instances) if self.slots is None else self.slots
