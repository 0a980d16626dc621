"""What a stream world is made of."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.errors import ConfigError

# Beyond these the arithmetic of times loses its meaning.
MAX_SECONDS = 1e8  # three years
MIN_STEP_S = 1e-3
MAX_HISTORY = 100_000
MAX_NOISE = 2.0


@dataclass(frozen=True)
class StreamOptions:
    """How time is cut, what is shown, and what a rescale costs.  `docs/stream-model.md` says what each means."""

    interval_s: float = 3600.0
    snapshot_s: float = 60.0
    step_s: float = 1.0
    history: int = 60
    noise: float = 0.05
    restore_mb_s: float = 200.0
    weight: float = 0.7

    def __post_init__(self) -> None:
        for name, low, high, what in (
            ("step_s", MIN_STEP_S, MAX_SECONDS, f"{MIN_STEP_S:g} s to {MAX_SECONDS:g} s"),
            ("snapshot_s", MIN_STEP_S, MAX_SECONDS, f"{MIN_STEP_S:g} s to {MAX_SECONDS:g} s"),
            ("interval_s", MIN_STEP_S, MAX_SECONDS, f"{MIN_STEP_S:g} s to {MAX_SECONDS:g} s"),
            ("history", 1, MAX_HISTORY, f"1 to {MAX_HISTORY} snapshots"),
            ("noise", 0.0, MAX_NOISE, f"0 (none) to {MAX_NOISE:g}"),
            ("restore_mb_s", 1e-6, 1e12, "above 0"),
            ("weight", 0.0, 1.0, "0 (only utilisation counts) to 1 (only latency counts)"),
        ):
            value = getattr(self, name)
            if not low <= value <= high:  # nan is in no range
                raise ConfigError(f"{name} is {value}; expected {what}")
        if self.history != int(self.history):
            raise ConfigError(f"history is {self.history}; expected a whole number of snapshots")
        for name in ("snapshot_s", "interval_s"):
            steps_of(name, getattr(self, name), self.step_s)
        if self.interval_s < self.snapshot_s:
            raise ConfigError(
                f"interval_s is {self.interval_s:g} s, less than snapshot_s, {self.snapshot_s:g} s: nothing would have "
                "been measured when the first decision is asked for; expected at least as much"
            )


def steps_of(name: str, span_s: float, step_s: float) -> int:
    """How many steps that is, or an error if they are not whole ones."""
    steps = round(span_s / step_s)
    if steps < 1 or abs(steps * step_s - span_s) > 1e-9 * span_s:
        raise ConfigError(f"{name} is {span_s:g} s; expected a multiple of step_s, which is {step_s:g} s")
    return steps
