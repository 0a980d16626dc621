from __future__ import annotations

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.fifo import Fifo
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

LONG, SHORT = StageSketch(tasks=90, mean_s=10.0), StageSketch(tasks=3)


def test_the_first_job_takes_all_it_can_use() -> None:
    view = make_view([JobSketch([LONG], executors=4), JobSketch([SHORT])], offered=6)
    assert ask(Fifo(), view) == DagDecision(0, 10, -1, Reason.FIRST_ARRIVED)


def test_a_job_without_valid_stage_is_passed_over() -> None:
    done = StageSketch(tasks=3, unclaimed=0, running=3)
    view = make_view([JobSketch([done], executors=3), JobSketch([SHORT])], offered=6)
    assert ask(Fifo(), view) == DagDecision(1, 6, -1, Reason.FIRST_ARRIVED)


def test_executors_stay_with_their_job() -> None:
    view = make_view([JobSketch([LONG]), JobSketch([SHORT], executors=2)], offered=2, source_job=1)
    assert ask(Fifo(), view) == DagDecision(1, 4, -1, Reason.KEEP_IN_JOB)


def test_a_stage_that_can_start_goes_before_one_that_waits() -> None:
    started = StageSketch(tasks=4, running=4)
    waiting = StageSketch(tasks=4, parents=(0,))
    view = make_view([JobSketch([started, waiting, SHORT], executors=4)])
    assert ask(Fifo(), view) == DagDecision(2, 5, -1, Reason.FIRST_ARRIVED)
