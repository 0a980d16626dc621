from __future__ import annotations

import numpy as np

from dovetail.core.dag import DagDecision, Reason
from dovetail.schedulers.heuristic.dag.graphene import Graphene
from dovetail.schedulers.heuristic.dag.troublesome import leads_to_trouble
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, info_for, make_view


def test_ancestors_are_found_whatever_the_order_of_the_edges() -> None:
    chain = [StageSketch()] + [StageSketch(parents=(v,)) for v in range(4)] + [StageSketch(mean_s=9.0, parents=(4,))]
    view = make_view([JobSketch(chain), JobSketch([StageSketch(mean_s=5.0), StageSketch(mean_s=1.0)])])
    expected = [True] * 6 + [True, False]
    stages = list(range(8))
    assert leads_to_trouble(view, stages, info_for(), 0.9, 0.3) == expected
    backwards = view._replace(edge_parent=view.edge_parent[::-1], edge_child=view.edge_child[::-1])
    assert leads_to_trouble(backwards, stages, info_for(), 0.9, 0.3) == expected


def test_a_job_too_large_to_mark_has_no_group_in_python_and_compiled() -> None:
    stages = [StageSketch(mean_s=1.0)] * 4096 + [StageSketch(mean_s=9.0)]
    view = make_view([JobSketch(stages)])
    expected = DagDecision(4096, 50, -1, Reason.BELOW_WEIGHTED_SHARE)
    scheduler = Graphene()
    assert ask(scheduler, view) == expected
    kernel, out = scheduler.kernel(), np.zeros(4, np.int64)
    assert kernel.function(view, kernel.params, kernel.state, out) == 1
    assert DagDecision(*out.tolist()) == expected
    just_fits = make_view([JobSketch(stages[1:])])
    assert ask(scheduler, just_fits) == DagDecision(4095, 50, -1, Reason.TROUBLESOME_FIRST)
