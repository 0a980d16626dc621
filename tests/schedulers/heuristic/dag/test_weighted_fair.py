from __future__ import annotations

import pytest

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.weighted_fair import WeightedFair
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view

# work 80 and 20 task-seconds
JOBS = [JobSketch([StageSketch(tasks=80)]), JobSketch([StageSketch(tasks=20)])]


@pytest.mark.parametrize(("alpha", "cap"), [(1.0, 40), (0.0, 25), (-1.0, 10), (0.5, 34)])
def test_the_share_grows_with_work_to_the_alpha(alpha: float, cap: int) -> None:
    scheduler = WeightedFair(WeightedFair.Params(alpha))
    assert ask(scheduler, make_view(JOBS, offered=50)) == DagDecision(0, cap, -1, Reason.BELOW_WEIGHTED_SHARE)


def test_a_whole_share_is_not_rounded_up() -> None:
    # 5 equal jobs of work 0.1 * 3: the quotient is a whisker above 10
    jobs = [JobSketch([StageSketch(tasks=3, mean_s=0.1)]) for _ in range(5)]
    decision = ask(WeightedFair(WeightedFair.Params(0.7)), make_view(jobs, offered=50))
    assert decision is not None and decision.limit == 10


def test_a_tiny_share_is_still_one_executor() -> None:
    jobs = [JobSketch([StageSketch(tasks=1, mean_s=0.0)]), JobSketch([StageSketch(tasks=1000, mean_s=1e6)])]
    decision = ask(WeightedFair(WeightedFair.Params(2.0)), make_view(jobs, offered=50))
    assert decision == DagDecision(0, 1, -1, Reason.BELOW_WEIGHTED_SHARE)
