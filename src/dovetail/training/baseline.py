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
from dovetail.core.errors import ConfigError

BASELINES = ("input", "time", "none")
"""input: the others with the same sequence.  time: those with other sequences, at the same time.  none."""


@dataclass(frozen=True)
class Trace:
    """One episode as its decisions saw it: when, and what had been paid by then; and the end."""

    time_s: Floats  # (K,) non-decreasing
    paid: Floats  # (K,)
    end_s: float
    total: float  # paid at the end
    group: int

    def to_go(self, rate: float, patience_s: float, until_s: float) -> Floats:
        """(K + 2,) what is still paid after each decision, from the end on, and at `until_s`, which is nothing.

        `rate` per second is taken off until then, for an episode that ends early has not saved the rest of the time.
        The future fades with `patience_s`.
        """
        spans = np.diff(np.append(self.time_s, [self.end_s, until_s]))
        steps = np.diff(np.append(self.paid, [self.total, self.total])) - rate * spans
        if np.isinf(patience_s):
            return np.append(np.cumsum(steps[::-1])[::-1], 0.0)
        keep = np.exp(-spans / patience_s)
        out = np.zeros(len(steps) + 1)
        for k in range(len(steps) - 1, -1, -1):
            out[k] = steps[k] + keep[k] * out[k + 1]
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
    groups = {trace.group for trace in traces}
    if baseline == "time" and len(groups) == 1:
        raise ConfigError("baseline time compares different sequences, but a worker plays one only; give it more")
    until_s = max((trace.end_s for trace in traces), default=0.0)
    to_go = [trace.to_go(rate, patience_s, until_s) for trace in traces]
    found: list[Floats] = []
    for i, trace in enumerate(traces):
        others = [
            k
            for k, other in enumerate(traces)
            if k != i and baseline != "none" and (other.group == trace.group) == (baseline == "input")
        ]
        expected = np.zeros(len(trace.time_s))
        for k in others:
            expected += np.interp(trace.time_s, np.append(traces[k].time_s, [traces[k].end_s, until_s]), to_go[k])
        found.append(expected / max(len(others), 1) - to_go[i][:-2])
    if standardise:
        for group in groups:
            members = [i for i, trace in enumerate(traces) if trace.group == group]
            together = np.concatenate([found[i] for i in members])
            spread = float(together.std()) if together.size else 1.0
            for i in members:
                found[i] = found[i] / max(spread, 1e-8)
    return found
