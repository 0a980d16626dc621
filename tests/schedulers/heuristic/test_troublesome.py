from __future__ import annotations

from dovetail.schedulers.heuristic.troublesome import leads_to_trouble
from dovetail.testing.dag_views import JobSketch, StageSketch, info_for, make_view


def test_ancestors_are_found_whatever_the_order_of_the_edges() -> None:
    chain = (
        [StageSketch()]
        + [StageSketch(parents=(v,)) for v in range(4)]
        + [StageSketch(mean_s=9.0, parents=(4,))]
    )
    view = make_view([JobSketch(chain), JobSketch([StageSketch(mean_s=5.0), StageSketch(mean_s=1.0)])])
    expected = [True] * 6 + [True, False]
    stages = list(range(8))
    assert leads_to_trouble(view, stages, info_for(), 0.9, 0.3) == expected
    backwards = view._replace(edge_parent=view.edge_parent[::-1], edge_child=view.edge_child[::-1])
    assert leads_to_trouble(backwards, stages, info_for(), 0.9, 0.3) == expected
