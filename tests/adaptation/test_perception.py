"""Windows by hand: who came and went, what was done, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.adaptation.perception import FEATURES, Perception, Window, to_come_s
from dovetail.core.dag import DagView
from dovetail.core.observation import Observation
from dovetail.testing.dag_views import JobSketch, StageSketch, info_for, make_view


def job(left: int, *, running: int = 1, arrival_s: float = 0.0) -> JobSketch:
    """10 tasks of 2 s each in one stage: 20 s of work, 2 s alone on 50 executors."""
    return JobSketch([StageSketch(tasks=10, mean_s=2.0, left=left, running=running)], arrival_s=arrival_s)


def renamed(view: DagView, *ids: int) -> DagView:
    return view._replace(job_id=np.array(ids, np.int64))


def test_the_cost_of_a_window_by_hand() -> None:
    perception = Perception(info_for())
    first = renamed(make_view([job(10, running=0)], time_s=0.0), 0)
    perception.see(first)
    perception.start_window(first)
    both = [job(5, running=5), job(10, running=2, arrival_s=3.0)]
    perception.see(renamed(make_view(both, time_s=4.0), 0, 1))
    assert len(perception.arrived) == 1
    # job 0 is gone at 10 s; when last seen, at 4 s, its longest chain took 2 s more
    last = renamed(make_view([job(5, arrival_s=3.0)], time_s=10.0), 1)
    perception.see(last)
    window = perception.window(last)
    assert (window.jobs_done, window.arrivals) == (1, 2)
    assert window.job_seconds == pytest.approx(6.0 + 7.0)
    assert window.progress_s == pytest.approx(2.0 + 1.0)  # all of job 0, a half of job 1
    assert window.work_s == pytest.approx(30.0)
    assert window.cost("completion", 50) == pytest.approx(13.0 / 3.0)
    assert window.cost_at_least("completion", 50) == pytest.approx(13.0 / 4.0)
    assert window.cost("makespan", 50) == pytest.approx(50 * 10.0 / 30.0)
    assert window.utilisation == pytest.approx((4.0 * 0 + 6.0 * 7) / (50 * 10.0))
    assert window.cost("utilisation", 50) == pytest.approx(1.0 / window.utilisation)
    assert np.isnan(window.cost("overhead", 50))
    perception.observe(Observation(scheduling_overhead_s=0.002))
    assert perception.window(last).cost("overhead", 50) == 0.002


def test_jobs_from_before_are_not_charged() -> None:
    perception = Perception(info_for())
    view = renamed(make_view([job(10, running=0)], time_s=0.0), 0)
    perception.see(view)
    later = renamed(make_view([job(8), job(10, running=0, arrival_s=5.0)], time_s=5.0), 0, 1)
    perception.see(later)
    perception.start_window(later)
    end = renamed(make_view([job(2), job(5, arrival_s=5.0)], time_s=9.0), 0, 1)
    perception.see(end)
    window = perception.window(end)
    assert window.job_seconds == pytest.approx(4.0) and window.progress_s == pytest.approx(1.0)
    assert window.work_s == pytest.approx(22.0)


def wide(left: int, *, arrival_s: float = 0.0) -> JobSketch:
    """1,000 tasks of 1 s each: 20 s alone on 50 executors."""
    return JobSketch([StageSketch(tasks=1000, mean_s=1.0, left=left)], arrival_s=arrival_s)


def test_job_seconds_to_come() -> None:
    """Least work first, one after the other on all executors, none faster than its longest chain."""
    view = make_view([wide(1000), wide(500), wide(10)], time_s=0.0)
    assert to_come_s(view, 3, 50) == pytest.approx((10 + 500 + 1000) / 50 + (10 + 500) / 50 + 1.0)
    assert to_come_s(view, 1, 50) == pytest.approx(20.0)
    assert to_come_s(view, 0, 50) == 0.0


@pytest.mark.parametrize(("left", "cost"), [((1000, 100), 20 / 20), ((750, 350), 20 / 15), ((500, 600), 20 / 12)])
@pytest.mark.parametrize("another", [False, True])
def test_the_cost_of_a_crowded_window(left: tuple[int, int], cost: float, another: bool) -> None:
    """10 s on 50 executors for the shorter job, for both, or for the longer one; what arrives then does not count."""
    perception = Perception(info_for())
    start = renamed(make_view([wide(1000), wide(600)], time_s=0.0), 0, 1)
    perception.see(start)
    perception.start_window(start)
    jobs = [wide(left[0]), wide(left[1]), wide(1000, arrival_s=10.0)][: 3 if another else 2]
    end = renamed(make_view(jobs, time_s=10.0), *range(len(jobs)))
    perception.see(end)
    window = perception.window(end)
    assert window.present_job_s == pytest.approx(20.0)
    assert window.cost("completion", 50, crowded=True) == pytest.approx(cost)


def test_features_of_arriving_work() -> None:
    perception = Perception(info_for())
    stages = [StageSketch(tasks=100, mean_s=0.1, memory=0.5), StageSketch(tasks=100, mean_s=0.1, parents=(0,))]
    view = make_view([JobSketch(stages), JobSketch(stages)], time_s=0.0)
    perception.see(view)
    found = dict(zip(FEATURES, perception.features(), strict=True))
    assert found == pytest.approx(
        {"granularity": -1.0, "width": 2.0, "depth": np.log10(2), "memory": 0.25, "together": 1.0}
    )


def abandon(*, told: bool) -> Window:
    """Two jobs of which the second vanishes after 4 s, its work half done."""
    perception = Perception(info_for())
    start = renamed(make_view([wide(1000), wide(600)], time_s=0.0), 0, 1)
    perception.see(start)
    perception.start_window(start)
    perception.see(renamed(make_view([wide(900), wide(500)], time_s=4.0), 0, 1))
    if told:
        perception.observe(Observation(abandoned=(1, 77)))
    end = renamed(make_view([wide(800)], time_s=8.0), 0)
    perception.see(end)
    return perception.window(end)


def test_jobs_that_failed_or_were_cancelled_are_not_complete() -> None:
    window, praised = abandon(told=True), abandon(told=False)
    assert (praised.jobs_done, praised.arrivals) == (1, 2)
    assert (window.jobs_done, window.arrivals) == (0, 1)
    assert window.work_s == pytest.approx(200 + 100) and praised.work_s == pytest.approx(200 + 600)
    assert window.job_seconds == pytest.approx(8.0) and window.progress_s == pytest.approx(20.0 * 0.2)
    assert window.present_job_s == pytest.approx(8.0)
    # of the relief, only what was done: 100 of each before it vanished, and 100 of the other afterwards
    done = (1600 + 600 - 1400 - 500 + 900 - 800) / 50
    assert window.relief_s == pytest.approx(done)
    assert praised.relief_s > 2 * window.relief_s
