"""Every order on a toy solved by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.schedulers.gpu_views import Job, cluster, view_of

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.heuristic.gpu.orders.max_min import fair_shares


def decide(spec: str, info: GpuInfo, view: GpuView) -> list[GpuDecision]:
    scheduler = SCHEDULERS.create(spec)
    scheduler.reset(info, np.random.default_rng(0))
    return list(scheduler.decide(view))


def started(spec: str, info: GpuInfo, waiting: list[Job], running: Any = (), **facts: Any) -> list[int]:
    return [one.job for one in decide(spec, info, view_of(info, waiting, running, **facts))]


FOUR = cluster(machines=1)  # one machine of four GPUs


def test_fifo_lets_others_pass_a_job_that_does_not_fit() -> None:
    jobs = [{"gpus": 2.0}, {"gpus": 4.0}, {"gpus": 1.0}]
    assert started("gpu/fifo+first-fit", FOUR, jobs) == [0, 2]


def test_strict_fifo_does_not() -> None:
    jobs = [{"gpus": 2.0}, {"gpus": 4.0}, {"gpus": 1.0}]
    assert started("gpu/fifo+first-fit:strict=true", FOUR, jobs) == [0]


def test_sjf_by_time_and_srtf_by_area() -> None:
    """100 s on four GPUs are more GPU-time than 300 s on one."""
    jobs = [{"gpus": 1.0, "left_s": 300.0}, {"gpus": 4.0, "left_s": 100.0}]
    assert started("gpu/sjf+first-fit", FOUR, jobs) == [1]
    assert started("gpu/srtf+first-fit", FOUR, jobs) == [0]
    assert started("gpu/srtf+first-fit:by=time", FOUR, jobs) == [1]


def test_equal_keys_go_by_arrival() -> None:
    jobs: list[Job] = [{"gpus": 3.0}, {"gpus": 3.0}]
    assert started("gpu/sjf+first-fit", FOUR, jobs) == [0]


def test_smallest_counts_the_gpus_of_all_workers() -> None:
    jobs = [{"workers": 4, "gpus": 1.0}, {"gpus": 2.0}, {"workers": 3, "gpus": 0.5}]
    assert started("gpu/smallest+first-fit", FOUR, jobs) == [2, 1]


def test_drf_by_the_dominant_share_after_the_start() -> None:
    """Of 4 GPUs user 0 holds one: 2/4 with its next.  User 1 has 1/4 with its first, 2/4 with its second."""
    running = [({"user": 0}, [0])]
    jobs = [{"user": 0}, {"user": 1}, {"user": 1}]
    assert started("gpu/drf+first-fit", FOUR, jobs, running) == [1, 0, 2]
    found = decide("gpu/drf+first-fit", FOUR, view_of(FOUR, jobs, running))
    assert [one.priority for one in found] == [-0.25, -0.5, -0.5]


def test_drf_looks_at_processors_too() -> None:
    """User 0 asks for few GPUs but three quarters of the processors."""
    jobs = [{"user": 0, "gpus": 1.0, "cpus": 24.0}, {"user": 1, "gpus": 2.0, "cpus": 1.0}]
    assert started("gpu/drf+first-fit", FOUR, jobs) == [1, 0]


def test_las_second_queue_after_the_first() -> None:
    jobs = [{"served_s": 4000.0, "gpus": 3.0, "arrival_s": 1.0}, {"gpus": 3.0, "arrival_s": 2.0}]
    assert started("gpu/las+first-fit:threshold_s=3600", FOUR, jobs) == [1]
    assert started("gpu/las+first-fit:threshold_s=5000", FOUR, jobs) == [0]


def test_las_stops_the_long_served_for_a_new_one() -> None:
    info = cluster(machines=1, preemption=True)
    running = [({"gpus": 2.0, "served_s": 90_000.0}, [0]), ({"gpus": 2.0, "served_s": 100.0}, [0])]
    scheduler = SCHEDULERS.create("gpu/las+pack")
    scheduler.reset(info, np.random.default_rng(0))
    view = view_of(info, [{"gpus": 1.0, "arrival_s": 5.0}], running, time_s=50.0)
    (stop,) = scheduler.decide(view)
    assert (stop.job, stop.stops, stop.reason, len(stop.machines)) == (0, True, Reason.MAKES_ROOM, 0)
    assert scheduler.kernel() is None
    again = view_of(
        info, [{"served_s": 90_000.0, "gpus": 2.0}, {"gpus": 1.0, "arrival_s": 5.0}], running[1:], time_s=50.0
    )
    assert [(one.job, one.stops) for one in scheduler.decide(again)] == [(1, False)]  # and nobody is stopped again


def test_srtf_stops_no_more_than_is_needed() -> None:
    """Four GPUs in use by three jobs; the one that waits needs two: the longest alone does."""
    info = cluster(machines=1, preemption=True)
    running = [
        ({"gpus": 1.0, "left_s": 90_000.0}, [0]),
        ({"gpus": 2.0, "left_s": 20_000.0}, [0]),
        ({"gpus": 1.0, "left_s": 10.0}, [0]),
    ]
    found = decide("gpu/srtf+pack", info, view_of(info, [{"gpus": 2.0, "left_s": 100.0}], running))
    assert [(one.job, one.stops) for one in found] == [(1, True)]
    found = decide("gpu/srtf+pack:margin=500", info, view_of(info, [{"gpus": 2.0, "left_s": 100.0}], running))
    assert found == []


def test_backfill_fills_the_gap_and_no_more() -> None:
    """Two of four GPUs are in use for 100 s more.  The head needs four: it is reserved at 100 s."""
    running = [({"gpus": 2.0, "left_s": 100.0}, [0])]
    jobs = [
        {"gpus": 4.0, "left_s": 50.0},
        {"gpus": 1.0, "left_s": 101.0},  # would be there still
        {"gpus": 1.0, "left_s": 100.0},  # gone by then
    ]
    found = decide("gpu/easy-backfill+best-fit", FOUR, view_of(FOUR, jobs, running))
    assert [(one.job, one.reason) for one in found] == [(2, Reason.BACKFILLED)]


def test_backfill_beside_the_head() -> None:
    """The head needs three of four: one is left for anybody, but only one."""
    running = [({"gpus": 2.0, "left_s": 100.0}, [0])]
    jobs = [{"gpus": 3.0}, {"gpus": 1.0, "left_s": 1e6}, {"gpus": 1.0, "left_s": 1e6}]
    assert started("gpu/easy-backfill+best-fit", FOUR, jobs, running) == [1]


def test_backfill_counts_speed() -> None:
    """At half speed the running job is there twice as long, so the gap is, too."""
    running = [({"gpus": 2.0, "left_s": 100.0, "speed": 0.5}, [0])]
    jobs = [{"gpus": 4.0}, {"gpus": 1.0, "left_s": 150.0}]
    assert started("gpu/easy-backfill+best-fit", FOUR, jobs, running) == [1]


def test_backfill_starts_in_order_what_fits() -> None:
    found = decide("gpu/easy-backfill+best-fit", FOUR, view_of(FOUR, [{"gpus": 2.0}, {"gpus": 2.0}]))
    assert [(one.job, one.reason) for one in found] == [(0, Reason.FIRST_ARRIVED), (1, Reason.FIRST_ARRIVED)]


def test_tetris_takes_the_pair_that_matches_best() -> None:
    """Machine 0 has processors left, machine 1 GPUs: the job hungry for GPUs goes first, to machine 1."""
    info = cluster(machines=2)
    running = [({"gpus": 3.0}, [0]), ({"gpus": 0.0, "cpus": 20.0}, [1])]
    jobs = [{"gpus": 0.0, "cpus": 4.0}, {"gpus": 3.0, "cpus": 1.0}]
    found = decide("gpu/tetris:weight=0", info, view_of(info, jobs, running))
    assert [(one.job, one.machines.tolist()) for one in found] == [(1, [1]), (0, [0])]


def test_tetris_favours_short_jobs() -> None:
    jobs = [{"gpus": 3.0, "left_s": 1000.0}, {"gpus": 2.0, "left_s": 10.0}]
    assert started("gpu/tetris:weight=0", FOUR, jobs) == [0]
    assert started("gpu/tetris", FOUR, jobs) == [1]


def test_max_min_shares_of_two_types() -> None:
    """One V100, one A100; both jobs are faster on the A100, 3 and 1.5 times.  With equal shares: 2 and 1.25.

    With x of the A100 for the first and the rest for the other, relative speeds are (1 + 2x) / 2 and
    (1.5 - 0.5x) / 1.25: equal at x = 0.5, where both are 1; more for both there is none.
    """
    speed = np.array([[1.0, 3.0], [1.0, 1.5]])
    shares = fair_shares(speed, np.ones(2), np.ones(2), np.ones(2))
    best = max(min((1 + 2 * x) / 2.0, (1.5 - 0.5 * x) / 1.25) for x in np.linspace(0, 1, 10001))
    assert ((shares * speed).sum(axis=1) / np.array([2.0, 1.25])).min() == pytest.approx(best, rel=1e-3)
    assert shares.sum(axis=0).max() <= 1.0 + 1e-6 and shares.sum(axis=1).max() <= 1.0 + 1e-6


def test_max_min_sends_each_where_it_gains_most() -> None:
    """Machine 0 has V100s, machine 1 A100s, which the second kind is three times as fast on."""
    info = cluster(machines=2, gpus=1, types=(0, 1))
    found = decide("gpu/max-min+topology", info, view_of(info, [{"kind": 0}, {"kind": 1}]))
    assert {one.job: one.machines.tolist() for one in found} == {0: [0], 1: [1]}
    assert all(one.reason == Reason.FURTHEST_BELOW_FAIR_SHARE for one in found)


def test_random_draws_anew_and_the_same_again() -> None:
    jobs: list[Job] = [{"gpus": 3.0} for _ in range(20)]
    view = view_of(FOUR, jobs)
    scheduler = SCHEDULERS.create("gpu/random")
    runs = []
    for _ in range(2):
        scheduler.reset(FOUR, np.random.default_rng(3))
        runs.append([scheduler.decide(view)[0].job for _ in range(20)])
    assert runs[0] == runs[1] and len(set(runs[0])) > 5


@pytest.mark.parametrize("spec", ["gpu/las+pack:threshold_s=0", "gpu/tetris:weight=-1", "gpu/max-min+pack:margin=0.5"])
def test_parameters_out_of_range(spec: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        SCHEDULERS.create(spec)
