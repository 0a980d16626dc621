from __future__ import annotations

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.critical_path import CriticalPath
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view


def test_longest_chain_over_all_jobs() -> None:
    chain = [StageSketch(mean_s=2.0), StageSketch(mean_s=7.0, parents=(0,))]
    view = make_view([JobSketch([StageSketch(mean_s=8.0)]), JobSketch(chain, executors=1)], offered=3)
    assert ask(CriticalPath(), view) == DagDecision(1, 4, -1, Reason.LONGEST_CRITICAL_PATH)
