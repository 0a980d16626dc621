"""Parts of the list scheduler that no named scheduler shows on its own."""

from __future__ import annotations

import pytest

from dovetail.core.dag import DagDecision, Reason
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.fifo import Fifo
from dovetail.schedulers.heuristic.list_rule import Keep, ListRule, Order, OrderRule, SizeRule
from dovetail.schedulers.heuristic.list_scheduling import ListScheduler
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, make_view


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
