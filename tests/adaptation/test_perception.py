"""Windows by hand: who came and went, what was done, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.adaptation.perception import FEATURES, Perception
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


def test_features_of_arriving_work() -> None:
    perception = Perception(info_for())
    stages = [StageSketch(tasks=100, mean_s=0.1, memory=0.5), StageSketch(tasks=100, mean_s=0.1, parents=(0,))]
    view = make_view([JobSketch(stages), JobSketch(stages)], time_s=0.0)
    perception.see(view)
    found = dict(zip(FEATURES, perception.features(), strict=True))
    assert found == pytest.approx(
        {"granularity": -1.0, "width": 2.0, "depth": np.log10(2), "memory": 0.25, "together": 1.0}
    )
