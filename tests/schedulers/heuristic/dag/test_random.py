from __future__ import annotations

from collections import Counter

import numpy as np

from dovetail.core.dag import Reason
from dovetail.schedulers.heuristic.dag.random import Random
from dovetail.testing.dag_views import JobSketch, StageSketch, info_for, make_view


def test_stages_and_limits_are_equally_likely() -> None:
    jobs = [
        JobSketch([StageSketch(tasks=9), StageSketch(tasks=9)], executors=4),
        JobSketch([StageSketch(tasks=9)]),
    ]
    view = make_view(jobs, offered=3)
    scheduler = Random()
    scheduler.reset(info_for(), np.random.default_rng(1))
    decisions = [scheduler.decide(view)[0] for _ in range(9000)]
    counts = Counter((decision.stage, decision.limit) for decision in decisions)
    assert set(counts) == {(v, held + extra) for v, held in ((0, 4), (1, 4), (2, 0)) for extra in (1, 2, 3)}
    assert all(850 < count < 1150 for count in counts.values())  # 1000 expected, standard deviation 30
    assert {decision.reason for decision in decisions} == {Reason.DRAWN_AT_RANDOM}


def test_the_seed_decides() -> None:
    view = make_view([JobSketch([StageSketch(tasks=9)] * 5)], offered=20)

    def draws(seed: int) -> list[object]:
        scheduler = Random()
        scheduler.reset(info_for(), np.random.default_rng(seed))
        return [scheduler.decide(view) for _ in range(10)]

    assert draws(1) == draws(1) != draws(2)
