from __future__ import annotations

import pytest

from dovetail.core.config import build
from dovetail.core.dag import DagDecision, Reason
from dovetail.core.errors import ConfigError
from dovetail.schedulers.heuristic.dag.fair_spill import FairSpill
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

BIG, SMALL = StageSketch(tasks=90), StageSketch(tasks=30)


def test_the_smallest_job_below_its_cap_first() -> None:
    view = make_view([JobSketch([BIG]), JobSketch([SMALL], executors=20)], offered=30)
    assert ask(FairSpill(), view) == DagDecision(1, 25, -1, Reason.BELOW_FAIR_SHARE)


def test_a_job_above_its_cap_releases() -> None:
    view = make_view([JobSketch([BIG], executors=3), JobSketch([SMALL], executors=30)], offered=5, source_job=1)
    assert ask(FairSpill(), view) == DagDecision(0, 25, -1, Reason.BELOW_FAIR_SHARE)


def test_what_nobody_may_take_spills_to_the_smallest_job() -> None:
    dry = JobSketch([StageSketch(tasks=3, running=3)])
    view = make_view([JobSketch([BIG], executors=25), JobSketch([SMALL], executors=25), dry], offered=4)
    assert ask(FairSpill(), view) == DagDecision(1, 29, -1, Reason.SPILL_OVER)


def test_keep_prefers_the_own_job_below_its_cap_only() -> None:
    below = make_view([JobSketch([BIG], executors=3), JobSketch([SMALL])], offered=5, source_job=0)
    assert ask(FairSpill(), below) == DagDecision(0, 25, -1, Reason.KEEP_IN_JOB)
    restless = FairSpill(FairSpill.Params(keep=False))
    assert ask(restless, below) == DagDecision(1, 25, -1, Reason.BELOW_FAIR_SHARE)
    above = make_view([JobSketch([BIG], executors=25), JobSketch([SMALL])], offered=5, source_job=0)
    assert ask(FairSpill(), above) == DagDecision(1, 25, -1, Reason.BELOW_FAIR_SHARE)


def test_an_absurd_exponent_is_refused() -> None:
    with pytest.raises(ConfigError, match="alpha is 9"):
        build(FairSpill.Params, {"alpha": 9.0})
