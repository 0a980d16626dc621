from __future__ import annotations

import pytest

from dovetail.core.config import build
from dovetail.core.dag import DagDecision, Reason
from dovetail.core.errors import ConfigError
from dovetail.schedulers.heuristic.dag.fair_spill import FairSpill
from dovetail.schedulers.heuristic.dag.hesrpt import HeSrpt
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

BIG, SMALL = StageSketch(tasks=90), StageSketch(tasks=30)


def test_the_job_with_less_work_left_gets_the_larger_share() -> None:
    # q = 1/2: e = 2; of two jobs the larger gets (1/2)^2 = a quarter of 50 executors, the smaller three quarters
    jobs = [JobSketch([BIG]), JobSketch([SMALL])]
    assert ask(HeSrpt(), make_view(jobs, offered=50)) == DagDecision(1, 38, -1, Reason.BELOW_WEIGHTED_SHARE)
    jobs[1] = JobSketch([SMALL], executors=38)
    assert ask(HeSrpt(), make_view(jobs, offered=12)) == DagDecision(0, 13, -1, Reason.BELOW_WEIGHTED_SHARE)


def test_saturated_jobs_do_not_count() -> None:
    saturated = JobSketch([StageSketch(tasks=2, running=2)])
    view = make_view([JobSketch([BIG]), saturated, JobSketch([SMALL])], offered=48)
    assert ask(HeSrpt(), view) == DagDecision(3 - 1, 38, -1, Reason.BELOW_WEIGHTED_SHARE)


def test_of_equal_jobs_the_first_gets_the_larger_share() -> None:
    view = make_view([JobSketch([BIG]), JobSketch([BIG])], offered=50)
    assert ask(HeSrpt(), view) == DagDecision(0, 38, -1, Reason.BELOW_WEIGHTED_SHARE)


def test_without_speedup_it_is_fair_spill() -> None:
    plain = HeSrpt(HeSrpt.Params(speedup=0.0))
    for offered, held in ((50, 0), (10, 30), (5, 25)):
        view = make_view([JobSketch([BIG], executors=25), JobSketch([SMALL], executors=held)], offered=offered)
        ours, theirs = ask(plain, view), ask(FairSpill(), view)
        assert ours is not None and theirs is not None
        assert ours[:3] == theirs[:3]


def test_an_exponent_of_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="speedup is 1"):
        build(HeSrpt.Params, {"speedup": 1.0})
