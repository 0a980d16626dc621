"""What a gpu world is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.errors import ConfigError

# Beyond these the arithmetic of times loses its meaning.
MAX_SECONDS = 1e9  # thirty years
MAX_SIGMA = 2.0


@dataclass(frozen=True)
class GpuOptions:
    """The cluster, when decisions are taken, and the cluster's troubles.  `docs/gpu-model.md` says what each means."""

    cluster: GpuCluster = field(default_factory=GpuCluster)
    interval_s: float = 0.0
    preemption: bool = False
    quantum_s: float = 300.0
    restart_s: float = 60.0
    checkpoint_s: float = 1800.0
    mean_time_to_failure_s: float = 0.0
    repair_s: float = 3600.0
    mood_sigma: float = 0.1
    mood_period_s: float = 7200.0
    mood_every_s: float = 600.0

    def __post_init__(self) -> None:
        most = f"{MAX_SECONDS:g} s at most"
        for name, low, high, what in (
            ("interval_s", 0.0, MAX_SECONDS, f"0 s (whenever something changes) or more, {most}"),
            ("quantum_s", 1.0, MAX_SECONDS, f"1 s or more, {most}"),
            ("restart_s", 0.0, MAX_SECONDS, f"0 s or more, {most}"),
            ("checkpoint_s", 0.0, MAX_SECONDS, f"0 s (nothing is ever lost) or more, {most}"),
            ("mean_time_to_failure_s", 0.0, MAX_SECONDS, f"a mean time of 0 s (never) to {MAX_SECONDS:g} s"),
            ("repair_s", 0.0, MAX_SECONDS, f"0 s or more, {most}"),
            ("mood_sigma", 0.0, MAX_SIGMA, f"0 (no moods) to {MAX_SIGMA:g}"),
            ("mood_period_s", 1.0, MAX_SECONDS, f"1 s or more, {most}"),
            ("mood_every_s", 1.0, MAX_SECONDS, f"1 s or more, {most}"),
        ):
            value = getattr(self, name)
            if not low <= value <= high:  # nan is in no range
                raise ConfigError(f"{name} is {value}; expected {what}")
