from __future__ import annotations

import pytest

from dovetail.core.dag import DagDecision, ExecutorClass, Reason
from dovetail.schedulers.heuristic.dag.graphene import Graphene
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

CLASSES = (ExecutorClass(40, cpu=1.0, memory=1.0), ExecutorClass(10, cpu=4.0, memory=8.0))


def test_what_leads_to_a_long_stage_goes_first() -> None:
    # 0 -> 1 -> 2 leads to the long stage 2; 3 -> 4 -> 5 is longer (18 s against 14 s) but has no long stage
    stages = [
        StageSketch(mean_s=2.0),
        StageSketch(mean_s=2.0, parents=(0,)),
        StageSketch(mean_s=10.0, parents=(1,)),
        StageSketch(mean_s=7.0),
        StageSketch(mean_s=7.0, parents=(3,)),
        StageSketch(mean_s=4.0, parents=(4,)),
    ]
    view = make_view([JobSketch(stages)], offered=2)
    assert ask(Graphene(), view) == DagDecision(0, 50, -1, Reason.TROUBLESOME_FIRST)
    lenient = Graphene(Graphene.Params(long_threshold=0.5))  # now both chains are troublesome
    assert ask(lenient, view) == DagDecision(3, 50, -1, Reason.TROUBLESOME_FIRST)
    strict = Graphene(Graphene.Params(long_threshold=1.1))  # now none is
    assert ask(strict, view) == DagDecision(3, 50, -1, Reason.BELOW_WEIGHTED_SHARE)


def test_a_stage_that_needs_a_large_executor_goes_first() -> None:
    stages = [StageSketch(mean_s=3.0), StageSketch(mean_s=2.0, memory=7.0)]
    view = make_view([JobSketch(stages)], offered=[5, 5], classes=CLASSES)
    decision = ask(Graphene(Graphene.Params(long_threshold=2.0)), view, CLASSES)
    assert decision == DagDecision(1, 50, -1, Reason.TROUBLESOME_FIRST)


def test_shares_are_those_of_weighted_fair() -> None:
    jobs = [JobSketch([StageSketch(tasks=80)]), JobSketch([StageSketch(tasks=20)])]
    decision = ask(Graphene(Graphene.Params(alpha=1.0)), make_view(jobs, offered=50))
    assert decision is not None and decision.limit == 40


def test_thresholds_are_checked() -> None:
    with pytest.raises(ValueError, match="long_threshold is 0"):
        Graphene.Params(long_threshold=0.0)
    with pytest.raises(ValueError, match="fit_threshold is 2"):
        Graphene.Params(fit_threshold=2.0)
