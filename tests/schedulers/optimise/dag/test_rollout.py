from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from dovetail.core.dag import DagDecision, DagKernel, DagView, Floats, Reason
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.dag.fair_spill import FairSpill
from dovetail.schedulers.optimise.dag.rollout import Rollout
from dovetail.testing.dag_views import FOUR_SIZES, JobSketch, StageSketch, ask, dag_views, info_for, make_view


class Oracle:
    """A look-ahead whose costs are whatever the test says."""

    def __init__(self, cost: Callable[[DagDecision], float]) -> None:
        self.cost = cost
        self.asked: list[Sequence[DagDecision]] = []

    def costs(
        self,
        view: DagView,
        candidates: Sequence[DagDecision],
        kernel: DagKernel,
        horizon_s: float = float("inf"),
    ) -> Floats:
        assert kernel.params.size > 0
        self.horizon_s = horizon_s
        self.asked.append(candidates)
        return np.array([self.cost(candidate) for candidate in candidates])


def rollout(oracle: Oracle, **params: float) -> Rollout:
    scheduler = Rollout(Rollout.Params(**params))  # type: ignore[arg-type]
    scheduler.reset(replace(info_for(), look_ahead=oracle), np.random.default_rng(0))
    return scheduler


TWO_JOBS = make_view([JobSketch([StageSketch(tasks=90)]), JobSketch([StageSketch(tasks=40)])], offered=8)


def test_the_cheapest_candidate_wins() -> None:
    oracle = Oracle(lambda decision: 100.0 - 10 * (decision.stage == 0) - 10 * (decision.limit == 4))
    assert rollout(oracle).decide(TWO_JOBS) == (DagDecision(0, 4, -1, Reason.LOOK_AHEAD),)


def test_tries_end_at_the_horizon() -> None:
    oracle = Oracle(lambda decision: 0.0)
    rollout(oracle, horizon_s=30.0).decide(TWO_JOBS)
    assert oracle.horizon_s == 30.0


def test_the_base_is_kept_unless_another_is_better_by_the_margin() -> None:
    base = ask(FairSpill(), TWO_JOBS)
    assert base is not None
    agrees = (base._replace(reason=Reason.LOOK_AHEAD_AGREES),)
    assert rollout(Oracle(lambda decision: 7.0)).decide(TWO_JOBS) == agrees
    nearly = Oracle(lambda decision: 100.0 - 4.0 * (decision.stage == 0))
    assert rollout(nearly).decide(TWO_JOBS) == agrees
    assert rollout(nearly, margin_s=3.0).decide(TWO_JOBS) != agrees


def test_no_choice_no_look_ahead() -> None:
    oracle = Oracle(lambda decision: 0.0)
    view = make_view([JobSketch([StageSketch(tasks=5)])], offered=1)
    assert rollout(oracle).decide(view) == (ask(FairSpill(), view),)
    assert oracle.asked == []


@settings(max_examples=100, deadline=None)
@given(view=dag_views())
def test_candidates_are_valid_few_and_different(view: DagView) -> None:
    oracle = Oracle(lambda decision: float(decision.stage + decision.limit))
    rollout(oracle, max_candidates=5).decide(view)
    for candidates in oracle.asked:
        assert 2 <= len(candidates) <= 6
        given = set()
        for stage, limit, kind, _ in candidates:
            held = int(view.job_executors[view.stage_job[stage]])
            assert view.stage_valid[stage] and kind == -1 and held < limit <= 50
            given.add((stage, min(limit - held, view.source_executors, int(view.stage_unclaimed[stage]))))
        assert len(given) == len(candidates)


def test_a_world_without_look_ahead_is_refused() -> None:
    with pytest.raises(DovetailError, match="look ahead"):
        Rollout().reset(info_for(), np.random.default_rng(0))


def test_it_has_no_kernel_and_checks_its_parameters() -> None:
    assert Rollout().kernel() is None
    with pytest.raises(ValueError, match="at least 1"):
        Rollout.Params(jobs=0)
    with pytest.raises(ValueError, match="horizon_s"):
        Rollout.Params(horizon_s=0.0)
    with pytest.raises(ValueError, match="margin_s"):
        Rollout.Params(margin_s=-1.0)


def test_with_several_classes_it_follows_its_base() -> None:
    oracle = Oracle(lambda decision: 100.0 - 10 * (decision.stage == 0))
    scheduler = Rollout()
    scheduler.reset(replace(info_for(FOUR_SIZES), look_ahead=oracle), np.random.default_rng(0))
    view = make_view(
        [JobSketch([StageSketch(tasks=90)]), JobSketch([StageSketch(tasks=40)])],
        offered=(2, 2, 2, 2),
        classes=FOUR_SIZES,
    )
    assert scheduler.decide(view) == (ask(FairSpill(), view, FOUR_SIZES),)
    assert not oracle.asked
