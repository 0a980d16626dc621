"""What jobs that are much shorter ask for, from those that came."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from dovetail import SCHEDULERS
from dovetail.core.gpu import GpuInfo, GpuView
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.features.gpu_arrivals import MOST_ASKED, REMEMBERED, Arrivals, asked_by_shorter, notice
from dovetail.sim.gpu import GpuOptions

HOUR_S = 3600.0


class Waiting:
    """Of a view, what is looked at; compiled code takes any object with these only as a view, so it is not compiled."""

    def __init__(self, jobs: list[tuple[int, float, float, int, float]]) -> None:
        numbers, came_s, left_s, workers, gpus = zip(*jobs, strict=True)
        self.job_id, self.job_workers = np.array(numbers), np.array(workers)
        self.job_arrival_s, self.job_left_s, self.job_gpus = np.array(came_s), np.array(left_s), np.array(gpus)


def noticed(*views: list[tuple[int, float, float, int, float]]) -> Arrivals:
    arrivals = Arrivals.empty()
    for view in views:
        cast(Any, notice).py_func(arrivals, Waiting(view))
    return arrivals


def test_nobody_has_come() -> None:
    assert asked_by_shorter(Arrivals.empty(), 0.0, HOUR_S, 8.0) == 0.0


def test_short_jobs_that_keep_coming_ask_for_what_they_bring() -> None:
    """Every hour one of 100 s on 4 GPUs: for a long one, 400 GPU-seconds an hour of 8 GPUs."""
    arrivals = noticed([(i, i * HOUR_S, 100.0, 2, 2.0) for i in range(100)])
    found = asked_by_shorter(arrivals, 100 * HOUR_S, 1e9, 8.0)
    assert found == pytest.approx(400.0 / HOUR_S / 8.0, rel=1e-3)


def test_jobs_as_long_hardly_count_and_longer_ones_do_not() -> None:
    arrivals = noticed([(i, i * HOUR_S, 100.0, 1, 8.0) for i in range(100)])
    longer, twice, alike, shorter = (
        asked_by_shorter(arrivals, 100 * HOUR_S, left_s, 8.0) for left_s in (1e9, 200.0, 100.0, 10.0)
    )
    assert (twice / longer, alike / longer) == (pytest.approx(0.5), pytest.approx(0.2))
    assert shorter < 0.003 * longer


def test_each_job_is_noticed_once() -> None:
    first = [(0, 5.0, 100.0, 1, 1.0), (1, 5.0, 100.0, 1, 1.0)]
    once = noticed(first, [(2, 9.0, 50.0, 1, 1.0)])
    again = noticed(first, first, [(1, 5.0, 40.0, 1, 1.0), (2, 9.0, 50.0, 1, 1.0)])  # 1 was stopped, and waits again
    assert all((a == b).all() for a, b in zip(once, again, strict=True)) and once.last[2] == 3


def test_only_the_last_are_remembered() -> None:
    many = REMEMBERED + 50
    flood = [(i, float(i), 1e6, 1, 1.0) for i in range(50)]
    found = noticed([*flood, *((i, i * HOUR_S, 100.0, 1, 1.0) for i in range(50, many))])
    assert asked_by_shorter(found, many * HOUR_S, 1e9, 1.0) == pytest.approx(100.0 / HOUR_S, rel=1e-3)


def test_many_at_once_are_no_flood_without_end() -> None:
    found = noticed([(i, 0.0, HOUR_S, 1, 8.0) for i in range(100)])
    at_once, later = (asked_by_shorter(found, time_s, 1e9, 8.0) for time_s in (0.0, 99 * HOUR_S))
    assert at_once == MOST_ASKED and later == pytest.approx(1.0)


def test_over_a_whole_episode_it_tends_to_the_load() -> None:
    """Nearly everything is shorter than a job of years; machines do what arrives at a load of 0.7."""
    setting = GpuSetting("small", jobs=REMEMBERED, load=0.7, options=GpuOptions(mood_sigma=0.0)).open()

    class Watching:
        def __init__(self) -> None:
            self.inner, self.arrivals, self.found = SCHEDULERS.create("gpu/srtf+topology"), Arrivals.empty(), [0.0]

        def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
            self.inner.reset(info, rng)
            self.gpus = float(info.machine_gpus.sum())

        def decide(self, view: GpuView) -> Any:
            notice(self.arrivals, view)
            self.found.append(asked_by_shorter(self.arrivals, view.time_s, 1e12, self.gpus))
            return self.inner.decide(view)

    ends = []
    for seed in range(4):
        watching = Watching()
        setting.run(setting.world(setting.sequence(seed), SeedTree(seed)), watching, SeedTree(seed).generator())
        ends.append(watching.found[-1])
    assert np.mean(ends) == pytest.approx(0.7, abs=0.25)
