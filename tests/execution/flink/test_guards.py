"""Guard rails, one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dovetail.execution.engines.flink.guards import Guards
from dovetail.execution.engines.flink.job import Edge
from dovetail.execution.engines.flink.messages import FlinkOptions
from dovetail.execution.engines.flink.snapshot import Snapshot

OPTIONS = FlinkOptions(cooldown_s=60.0, most_per_hour=2, interval_s=10.0, snapshot_s=1.0, slo_s=1.0)


def guards(options: FlinkOptions = OPTIONS, edges: tuple[Edge, ...] = ()) -> Guards:
    return Guards(options, np.array([1, 2, 1]), np.array([4, 8, 3]), edges)


def row(end_s: float, latency_s: float, rate: float = 10.0, down_share: float = 0.0) -> Snapshot:
    zeros = np.zeros(3)
    return Snapshot(
        end_s=end_s,
        clock_s=0.0,
        input_rate=zeros,
        rate=zeros,
        busy=zeros,
        blocked=zeros,
        queued=zeros,
        latency_s=zeros,
        parallelism=np.ones(3, dtype=np.int64),
        missing=np.zeros(3, dtype=np.bool_),
        job_rate=rate,
        job_latency_s=latency_s,
        job_lag=0.0,
        down_share=down_share,
        by_markers=False,
    )


def rows(latency_s: float, first_s: float, last_s: float, rate: float = 10.0) -> list[Snapshot]:
    return [row(at_s, latency_s, rate) for at_s in np.arange(first_s, last_s + 1.0)]


def test_bounds() -> None:
    assert guards().bounded(np.array([9, 1, 3])).tolist() == [4, 2, 3]


def test_operators_that_hand_on_one_to_one_are_equal() -> None:
    tied = guards(edges=(Edge(0, 1, False), Edge(1, 2, True)))
    assert tied.bounded(np.array([1, 2, 1])).tolist() == [1, 2, 2]
    assert tied.bounded(np.array([1, 8, 1])).tolist() == [1, 3, 3]


def test_the_cool_down_ends() -> None:
    rails = guards()
    assert rails.why_not(0.0) == ""
    rails.asked(0.0)
    assert "20 s to go" in rails.why_not(40.0)
    assert rails.why_not(60.0) == ""


def test_the_budget_is_that_of_any_hour() -> None:
    rails = guards()
    rails.asked(0.0)
    rails.asked(1800.0)
    assert "2 rescales within the last hour" in rails.why_not(3599.0)
    assert rails.why_not(3601.0) == ""


def test_no_rescale_at_all_is_a_budget_too() -> None:
    assert "0 at most" in guards(replace(OPTIONS, most_per_hour=0)).why_not(0.0)


BEFORE = np.array([2, 4, 2])


def judged(after: list[Snapshot], options: FlinkOptions = OPTIONS) -> str | None:
    rails = guards(options)
    rails.came_up(BEFORE, rows(0.5, 91.0, 100.0), 100.0, 101.0)
    assert rails.rollback(105.0, after) is None, "it is too early to say"
    found = rails.rollback(111.0, after)
    if found is None:
        return None
    assert found[0].tolist() == BEFORE.tolist()
    return found[1]


def test_latency_that_stays_worse_is_rolled_back() -> None:
    assert "latency is 4 s, 0.5 s before" in str(judged(rows(4.0, 102.0, 111.0)))


@pytest.mark.parametrize(
    "after",
    [
        rows(0.9, 102.0, 111.0),  # below the SLO
        rows(4.0, 102.0, 111.0, rate=12.0),  # more comes than before
        [row(107.0, 8.0), row(109.0, 5.0), row(111.0, 3.0)],  # it recovers
        rows(4.0, 102.0, 106.0),  # nothing was measured since
    ],
)
def test_what_is_no_reason_to_roll_back(after: list[Snapshot]) -> None:
    assert judged(after) is None


def test_rollback_can_be_switched_off() -> None:
    assert judged(rows(4.0, 102.0, 111.0), replace(OPTIONS, rollback_factor=math.inf)) is None


def test_a_rescale_is_judged_once() -> None:
    rails = guards()
    rails.came_up(BEFORE, rows(0.5, 91.0, 100.0), 100.0, 101.0)
    assert rails.rollback(111.0, rows(4.0, 102.0, 111.0)) is not None
    assert rails.rollback(121.0, rows(4.0, 112.0, 121.0)) is None


def test_without_a_time_before_there_is_nothing_to_compare_with() -> None:
    rails = guards()
    rails.came_up(BEFORE, [row(99.0, 0.5, down_share=1.0)], 100.0, 101.0)
    assert rails.rollback(111.0, rows(4.0, 102.0, 111.0)) is None
