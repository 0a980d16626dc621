"""How good a decision was, compared with what others got out of the same job sequence (Mao et al., ICLR 2019).

All episodes of a group replay one sequence, with the same arrivals and the same luck; only the decisions differ.  The
baseline of a decision at wall time t is the mean of what the *other* episodes still had to pay from t on.  It does
not depend on the decision, so the gradient stays unbiased; and it takes out what the sequence alone is to blame for,
which otherwise swamps the signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats

BASELINES = ("input", "time", "none")
"""input: of the others with the same sequence.  time: of all others, whatever their sequence.  none."""


@dataclass(frozen=True)
class Trace:
    """One episode as its decisions saw it: when, and what had been paid by then; and the end."""

    time_s: Floats  # (K,) non-decreasing
    paid: Floats  # (K,)
    end_s: float
    total: float  # paid at the end
    group: int

    def to_go(self, rate: float, patience_s: float) -> Floats:
        """(K,) what is still paid after each decision, less `rate` per second; the future fades with `patience_s`."""
        times = np.append(self.time_s, self.end_s)
        spans = np.diff(times)
        steps = np.diff(np.append(self.paid, self.total)) - rate * spans
        if np.isinf(patience_s):
            return np.cumsum(steps[::-1])[::-1]
        keep = np.exp(-spans / patience_s)
        out = np.zeros(len(steps))
        later = 0.0
        for k in range(len(steps) - 1, -1, -1):
            later = steps[k] + keep[k] * later
            out[k] = later
        return out


def advantages(
    traces: Sequence[Trace],
    *,
    baseline: str = "input",
    rate: float = 0.0,
    patience_s: float = float("inf"),
    standardise: bool = True,
) -> list[Floats]:
    """For each episode (K,): by how much each decision did better than the baseline, above 0 = better.

    Standardised: divided by the standard deviation over all decisions with the same sequence, so that long
    sequences do not drown short ones.
    """
    to_go = [trace.to_go(rate, patience_s) for trace in traces]
    found: list[Floats] = []
    for i, trace in enumerate(traces):
        others = [
            k
            for k, other in enumerate(traces)
            if k != i and baseline != "none" and (baseline == "time" or other.group == trace.group)
        ]
        expected = np.zeros(len(trace.time_s))
        for k in others:
            other = traces[k]
            expected += np.interp(
                trace.time_s, np.append(other.time_s, other.end_s), np.append(to_go[k], 0.0), right=0.0
            )
        found.append(expected / max(len(others), 1) - to_go[i])
    if standardise:
        for group in {trace.group for trace in traces}:
            members = [i for i, trace in enumerate(traces) if trace.group == group]
            spread = float(np.concatenate([found[i] for i in members]).std())
            for i in members:
                found[i] = found[i] / max(spread, 1e-8)
    return found
