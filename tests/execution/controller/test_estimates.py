from __future__ import annotations

import math

import pytest

from dovetail.execution.controller.estimates import MEMORY, PRIOR_WEIGHT, UNKNOWN_S, Estimates


def test_nothing_known_then_learned_from_the_first_tasks() -> None:
    estimate = Estimates().of("job", "stage", None)
    assert estimate.mean_s == UNKNOWN_S and estimate.seen_s == math.inf
    estimate.add(30.0, 10)
    assert estimate.mean_s == pytest.approx((PRIOR_WEIGHT * UNKNOWN_S + 30.0) / (PRIOR_WEIGHT + 10))
    assert estimate.seen_s == 3.0


def test_a_stage_of_the_same_name_starts_from_what_was_seen() -> None:
    estimates = Estimates()
    estimates.of("job", "stage", None).add(200.0, 100)
    assert estimates.of("job", "stage", None).mean_s == pytest.approx(2.0)
    assert estimates.of("job", "other", None).mean_s == pytest.approx(2.0)  # from everything seen
    estimates.of("job", "other", None).add(1000.0, 100)
    assert estimates.of("job", "stage", None).mean_s == pytest.approx(2.0)
    assert estimates.of("job", "other", None).seen_s == pytest.approx(10.0)


def test_history_fades() -> None:
    estimates = Estimates()
    estimates.of("job", "stage", None).add(MEMORY, int(MEMORY))  # a second each
    for _ in range(20):
        estimates.of("job", "stage", None).add(5.0 * MEMORY, int(MEMORY))  # five seconds each
    assert estimates.of("job", "stage", None).mean_s == pytest.approx(5.0, rel=1e-3)


def test_who_says_what_to_expect_is_believed() -> None:
    estimate = Estimates().of("job", "stage", 7.0)
    estimate.add(10.0, 10)
    assert estimate.fixed and estimate.mean_s == 7.0 and estimate.seen_s == 1.0
