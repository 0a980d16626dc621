from __future__ import annotations

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.fair import Fair
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

MANY = StageSketch(tasks=90)
DRY = StageSketch(tasks=3, running=3)


def test_the_first_job_below_the_cap_is_filled_up_to_it() -> None:
    # three unsaturated jobs share 50 executors: ceil(50 / 3) = 17; the saturated one does not count
    jobs = [
        JobSketch([DRY], executors=3),
        JobSketch([MANY], executors=17),
        JobSketch([MANY]),
        JobSketch([MANY]),
    ]
    assert ask(Fair(), make_view(jobs, offered=30)) == DagDecision(2, 17, -1, Reason.BELOW_FAIR_SHARE)


def test_executors_stay_whatever_the_cap() -> None:
    view = make_view([JobSketch([MANY]), JobSketch([MANY], executors=40)], offered=5, source_job=1)
    assert ask(Fair(), view) == DagDecision(1, 45, -1, Reason.KEEP_IN_JOB)


def test_executors_idle_when_every_job_has_its_share() -> None:
    view = make_view([JobSketch([DRY], executors=0), JobSketch([MANY], executors=50)], offered=1)
    assert ask(Fair(), view) is None


def test_ready_stages_first_then_by_id() -> None:
    stages = [DRY, StageSketch(parents=(0,)), StageSketch(mean_s=1.0), StageSketch(mean_s=9.0)]
    decision = ask(Fair(), make_view([JobSketch(stages, executors=3)]))
    assert decision is not None and decision.stage == 2
