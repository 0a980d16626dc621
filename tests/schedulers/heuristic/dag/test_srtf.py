from __future__ import annotations

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.srtf import Srtf
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view


def test_least_work_left_first_whoever_holds_the_executors() -> None:
    nearly_done = JobSketch([StageSketch(tasks=50, left=1)], executors=7)
    small = JobSketch([StageSketch(tasks=10)])
    view = make_view([small, nearly_done], offered=3, source_job=0)
    assert ask(Srtf(), view) == DagDecision(1, 10, -1, Reason.LEAST_WORK_LEFT)


def test_a_tie_goes_to_the_earlier_job() -> None:
    view = make_view([JobSketch([StageSketch()]), JobSketch([StageSketch()])])
    assert ask(Srtf(), view) == DagDecision(0, 1, -1, Reason.LEAST_WORK_LEFT)
