from __future__ import annotations

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.sjf_cp import SjfCp
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view


def test_least_total_work_first_even_if_less_is_left_elsewhere() -> None:
    nearly_done = JobSketch([StageSketch(tasks=50, left=1)])  # 50 s in all, 1 s left
    small = JobSketch([StageSketch(tasks=10)])
    assert ask(SjfCp(), make_view([nearly_done, small], offered=3)) == DagDecision(1, 3, -1, Reason.SHORTEST_JOB)


def test_executors_leave_for_a_shorter_job() -> None:
    view = make_view([JobSketch([StageSketch(tasks=50)]), JobSketch([StageSketch(tasks=10)])], source_job=0)
    assert ask(SjfCp(), view) == DagDecision(1, 1, -1, Reason.SHORTEST_JOB)


def test_longest_chain_first_within_the_job() -> None:
    stages = [StageSketch(mean_s=5.0), StageSketch(mean_s=2.0), StageSketch(mean_s=4.0, parents=(1,))]
    assert ask(SjfCp(), make_view([JobSketch(stages)])) == DagDecision(1, 1, -1, Reason.SHORTEST_JOB)
