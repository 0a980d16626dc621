"""Parts of the list scheduler that no named scheduler shows on its own."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.dag import DagDecision, Reason
from dovetail.core.errors import DovetailError
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.heuristic.dag import list_scheduling
from dovetail.schedulers.heuristic.dag.fifo import Fifo
from dovetail.schedulers.heuristic.dag.list_rule import Keep, ListRule, Order, OrderRule, SizeRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, info_for, make_view


def test_order_and_size_combine_freely() -> None:
    shortest_first_capped_keeping_all = ListScheduler(
        ListRule(
            order=OrderRule(Order.TOTAL_WORK),
            size=SizeRule(capped=True, keep=Keep.ALWAYS),
            reason=Reason.SHORTEST_JOB,
        )
    )
    jobs = [JobSketch([StageSketch(tasks=90)], executors=30), JobSketch([StageSketch(tasks=5)])]
    kept = ask(shortest_first_capped_keeping_all, make_view(jobs, offered=3, source_job=0))
    assert kept == DagDecision(0, 33, -1, Reason.KEEP_IN_JOB)
    common = ask(shortest_first_capped_keeping_all, make_view(jobs, offered=3))
    assert common == DagDecision(1, 25, -1, Reason.SHORTEST_JOB)


def test_the_kernel_needs_the_size_of_the_cluster() -> None:
    with pytest.raises(DovetailError, match=r"Fifo: reset\(\) must come before kernel\(\)"):
        Fifo().kernel()


@pytest.mark.parametrize("name", ["dag/fifo", "dag/critical-path", "dag/graphene", "dag/tetris", "dag/fair-spill"])
def test_of_many_stages_the_same_one_is_chosen_as_of_few(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By arrays, or one by one."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        jobs = [
            JobSketch(
                [
                    StageSketch(tasks=5, mean_s=float(rng.integers(1, 4)), left=5, memory=float(rng.choice([0.1, 0.5])))
                    for _ in range(10)
                ]
            )
            for _ in range(4)
        ]
        view = make_view(jobs, time_s=0.0)
        chosen = []
        for many in (0, 10**9):
            monkeypatch.setattr(list_scheduling, "MANY", many)
            scheduler = SCHEDULERS.create(name)
            scheduler.reset(info_for(), np.random.default_rng(0))
            chosen.append(scheduler.decide(view))
        assert chosen[0] == chosen[1] and chosen[0]
