"""Credit by hand, and on a toy whose gradient is known in closed form: unbiased, and with less variance."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.training.baseline import Trace, advantages


def trace(times: list[float], paid: list[float], end_s: float, total: float, group: int = 0) -> Trace:
    return Trace(np.array(times), np.array(paid), end_s, total, group)


def test_what_is_still_to_pay() -> None:
    one = trace([0, 1, 4], [0, 3, 7], 6, 10)
    assert one.to_go(0.0, np.inf).tolist() == [10, 7, 3]
    assert one.to_go(0.5, np.inf).tolist() == [10 - 3, 7 - 2.5, 3 - 1]
    fading = one.to_go(0.0, 2.0)
    assert fading[2] == 3
    assert fading[1] == pytest.approx(4 + np.exp(-3 / 2) * 3)
    assert fading[0] == pytest.approx(3 + np.exp(-1 / 2) * fading[1])


def test_the_baseline_is_the_mean_of_the_others_at_the_same_time() -> None:
    # the others still had 8 and 6 to pay at 2 s: (0: 10, 4: 6) and (0: 12, 4: 0)
    ours = trace([2], [0], 3, 5)
    first, second = trace([0, 4], [0, 4], 9, 10), trace([0, 4], [0, 12], 4, 12)
    found = advantages([ours, first, second], standardise=False)
    assert found[0].tolist() == [(8 + 6) / 2 - 5]


def test_after_the_end_of_another_it_had_nothing_to_pay() -> None:
    found = advantages([trace([5], [0], 9, 4), trace([0], [0], 2, 6)], standardise=False)
    assert found[0].tolist() == [0 - 4]


def test_only_the_same_sequence_counts_unless_it_should_not() -> None:
    traces = [trace([0], [0], 1, 3, 0), trace([0], [0], 1, 5, 0), trace([0], [0], 1, 100, 1), trace([0], [0], 1, 90, 1)]
    assert [one[0] for one in advantages(traces, standardise=False)] == [2, -2, -10, 10]
    assert advantages(traces, baseline="time", standardise=False)[0][0] == pytest.approx(195 / 3 - 3)
    assert advantages(traces, baseline="none", standardise=False)[0][0] == -3
    assert [one[0] for one in advantages(traces)] == [1, -1, -1, 1]


@pytest.mark.parametrize("baseline", ["input", "time", "none"])
def test_the_gradient_is_unbiased(baseline: str) -> None:
    """One decision, 1 with probability p, costs 2; the sequence costs 0 or 50.  d cost / d theta = 2 p (1 - p)."""
    gradients = toy_gradients(baseline)
    error = gradients.std() / np.sqrt(len(gradients))
    assert gradients.mean() == pytest.approx(-2 * P * (1 - P), abs=4 * error)


def test_input_dependent_baselines_take_out_what_the_sequence_is_to_blame_for() -> None:
    variance = {name: toy_gradients(name).var() for name in ("input", "time", "none")}
    assert variance["input"] < variance["time"] / 50
    assert variance["input"] < variance["none"] / 50


P = 0.3


def toy_gradients(baseline: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(3000):
        sequence = rng.integers(2, size=2) * 50.0
        action = rng.random((2, 4)) < P
        traces = [
            trace([0], [0], 1, sequence[group] + 2.0 * action[group, k], group) for group in range(2) for k in range(4)
        ]
        gains = np.array([one[0] for one in advantages(traces, baseline=baseline, standardise=False)])
        score = action.ravel() - P  # of a Bernoulli with p = sigmoid(theta)
        found.append((gains * score).mean())
    return np.array(found)
