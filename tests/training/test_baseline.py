"""Credit by hand, and on a toy whose gradient is known in closed form: unbiased, and with less variance."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.errors import ConfigError
from dovetail.training.baseline import Trace, advantages


def trace(times: list[float], paid: list[float], end_s: float, total: float, group: int = 0) -> Trace:
    return Trace(np.array(times), np.array(paid), end_s, total, group)


def test_what_is_still_to_pay() -> None:
    one = trace([0, 1, 4], [0, 3, 7], 6, 10)
    assert one.to_go(0.0, np.inf, 6).tolist() == [10, 7, 3, 0, 0]
    assert one.to_go(0.5, np.inf, 6).tolist() == [10 - 3, 7 - 2.5, 3 - 1, 0, 0]
    assert one.to_go(0.5, np.inf, 8).tolist() == [10 - 4, 7 - 3.5, 3 - 2, -1, 0]
    fading = one.to_go(0.0, 2.0, 9)
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


def test_who_ends_early_has_not_saved_the_time_until_the_others_end() -> None:
    early, late = trace([0], [0], 10, 20), trace([0], [0], 30, 40)
    for rate in (0.0, 2.0):
        assert [one[0] for one in advantages([early, late], rate=rate, standardise=False)] == [20, -20]


def test_an_episode_without_decisions_has_no_credit_to_give() -> None:
    found = advantages([trace([], [], 3, 5), trace([1], [2], 4, 6)])
    assert found[0].size == 0 and np.isfinite(found[1]).all()
    assert advantages([trace([], [], 3, 5), trace([], [], 4, 6)])[0].size == 0


def test_only_the_same_sequence_counts_unless_it_should_not() -> None:
    traces = [trace([0], [0], 1, 3, 0), trace([0], [0], 1, 5, 0), trace([0], [0], 1, 100, 1), trace([0], [0], 1, 90, 1)]
    assert [one[0] for one in advantages(traces, standardise=False)] == [2, -2, -10, 10]
    assert advantages(traces, baseline="time", standardise=False)[0][0] == pytest.approx((100 + 90) / 2 - 3)
    assert advantages(traces, baseline="none", standardise=False)[0][0] == -3
    assert [one[0] for one in advantages(traces)] == [1, -1, -1, 1]
    with pytest.raises(ConfigError, match="one only"):
        advantages(traces[:2], baseline="time")


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


def test_the_gradient_is_unbiased_where_decisions_come_at_different_times() -> None:
    """Two decisions; the first, if 1, costs 2 and delays the second and the end by 1 s; the second, if 1, costs 3."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(6000):
        extra = 40.0 * rng.integers(2)
        action = rng.random((4, 2)) < P
        traces = [
            trace([0, 1 + one], [0, 5 + 2 * one + extra / 2], 3 + one, 9 + 2 * one + 3 * two + extra)
            for one, two in action.astype(float)
        ]
        gains = np.array(advantages(traces, standardise=False))
        found.append((gains * (action - P)).sum(axis=1).mean())
    gradients = np.array(found)
    error = gradients.std() / np.sqrt(len(gradients))
    assert gradients.mean() == pytest.approx(-(2 + 3) * P * (1 - P), abs=4 * error)
    assert 4 * error < 0.3


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
