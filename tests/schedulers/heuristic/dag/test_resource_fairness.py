"""dag/drf, dag/fair-threads and dag/fair-memory, on toys solved by hand."""

from __future__ import annotations

import pytest

from dovetail.core.dag import DagDecision, ExecutorClass, Reason
from dovetail.schedulers.heuristic.dag.drf import Drf
from dovetail.schedulers.heuristic.dag.fair_memory import FairMemory
from dovetail.schedulers.heuristic.dag.fair_threads import FairThreads
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

CLASSES = (ExecutorClass(10, cpu=2.0, memory=4.0),)  # 20 threads, 40 of memory
LARGE = JobSketch([StageSketch(tasks=50, running=2, memory=4.0)], executors=2)  # uses 2 threads, 8 of memory
SMALL = JobSketch([StageSketch(tasks=50, running=3, memory=1.0)], executors=3)  # uses 3 threads, 3 of memory


@pytest.mark.parametrize(
    ("scheduler", "stage", "cap"),
    [
        (FairThreads(), 0, 5),  # 2 threads are fewer than 3; a half each
        (FairMemory(), 1, 8),  # 3 is less than 8; a task of the small job needs a quarter, so 8 : 2
        (Drf(), 1, 7),  # 3/20 is less than 8/40; a task needs 1/20 against 4/40, so 2 : 1 and rounded up
    ],
)
def test_who_goes_first_and_how_far(scheduler: ListScheduler, stage: int, cap: int) -> None:
    view = make_view([LARGE, SMALL], offered=5, classes=CLASSES)
    assert ask(scheduler, view, CLASSES) == DagDecision(stage, cap, -1, Reason.BELOW_FAIR_SHARE)


def test_a_resource_without_bound_is_never_dominant() -> None:
    """On a cluster that knows no sizes, dominant shares are shares of threads, and memory tells nobody apart."""
    view = make_view([SMALL, LARGE], offered=5)
    assert ask(Drf(), view) == ask(FairThreads(), view) == DagDecision(1, 25, -1, Reason.BELOW_FAIR_SHARE)
    assert ask(FairMemory(), view) == DagDecision(0, 25, -1, Reason.BELOW_FAIR_SHARE)


def test_what_nobody_may_take_spills_over() -> None:
    done = JobSketch([StageSketch(tasks=3, running=3, memory=4.0)], executors=3)
    view = make_view([JobSketch([StageSketch(tasks=50, running=10)], executors=10), done], offered=2, classes=CLASSES)
    assert ask(Drf(), view, CLASSES) == DagDecision(0, 12, -1, Reason.SPILL_OVER)
