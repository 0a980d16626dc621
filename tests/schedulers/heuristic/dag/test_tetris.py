from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.dag import DagDecision, ExecutorClass, Reason
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.dag.tetris import Tetris
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, info_for, make_view

CLASSES = (ExecutorClass(10, cpu=1.0, memory=1.0), ExecutorClass(10, cpu=1.0, memory=4.0))
PACKING_ONLY = Tetris(Tetris.Params(short_jobs=0.0))


def test_the_task_that_fills_its_executor_wins() -> None:
    jobs = [JobSketch([StageSketch(memory=0.5)]), JobSketch([StageSketch(memory=4.0)])]
    view = make_view(jobs, offered=[3, 5], classes=CLASSES)
    assert ask(PACKING_ONLY, view, CLASSES) == DagDecision(1, 5, 1, Reason.BEST_PACKING)


def test_a_small_task_takes_the_small_executor() -> None:
    view = make_view([JobSketch([StageSketch(memory=0.5)], executors=2)], offered=[3, 5], classes=CLASSES)
    assert ask(PACKING_ONLY, view, CLASSES) == DagDecision(0, 5, 0, Reason.BEST_PACKING)


def test_only_classes_on_offer_that_fit() -> None:
    view = make_view([JobSketch([StageSketch(memory=0.5)])], offered=[0, 5], classes=CLASSES)
    assert ask(PACKING_ONLY, view, CLASSES) == DagDecision(0, 5, 1, Reason.BEST_PACKING)


def test_short_jobs_can_outweigh_packing() -> None:
    jobs = [JobSketch([StageSketch(tasks=100, memory=1.0)]), JobSketch([StageSketch(tasks=2, memory=0.9)])]
    view = make_view(jobs, offered=[4, 0], classes=CLASSES)
    assert ask(PACKING_ONLY, view, CLASSES) == DagDecision(0, 4, 0, Reason.BEST_PACKING)
    assert ask(Tetris(), view, CLASSES) == DagDecision(1, 4, 0, Reason.BEST_PACKING)


def test_without_bounds_it_is_least_work_left_first() -> None:
    jobs = [JobSketch([StageSketch(tasks=9, memory=1.0)]), JobSketch([StageSketch(tasks=2)], executors=1)]
    assert ask(Tetris(), make_view(jobs, offered=3)) == DagDecision(1, 4, 0, Reason.BEST_PACKING)


def test_executors_that_need_not_move_count_for_more() -> None:
    jobs = [JobSketch([StageSketch(memory=1.0)]), JobSketch([StageSketch(memory=0.9)])]
    view = make_view(jobs, offered=[4, 0], source_job=1, classes=CLASSES)
    assert ask(PACKING_ONLY, view, CLASSES) == DagDecision(1, 4, 0, Reason.BEST_PACKING)
    indifferent = Tetris(Tetris.Params(short_jobs=0.0, remote_penalty=0.0))
    assert ask(indifferent, view, CLASSES) == DagDecision(0, 4, 0, Reason.BEST_PACKING)


def test_of_equal_stages_one_that_can_start_goes_first() -> None:
    stages = [StageSketch(tasks=2, running=2), StageSketch(mean_s=9.0, parents=(0,)), StageSketch()]
    decision = ask(PACKING_ONLY, make_view([JobSketch(stages)], offered=[1, 0], classes=CLASSES), CLASSES)
    assert decision is not None and decision.stage == 2


def test_parameters_and_order_of_calls_are_checked() -> None:
    with pytest.raises(ValueError, match="short_jobs"):
        Tetris.Params(short_jobs=-1.0)
    with pytest.raises(ValueError, match="remote_penalty"):
        Tetris.Params(remote_penalty=1.5)
    with pytest.raises(DovetailError, match=r"reset\(\) must come before kernel\(\)"):
        Tetris().kernel()
    scheduler = Tetris()
    scheduler.reset(info_for(CLASSES), np.random.default_rng(0))
    assert scheduler.kernel().params.tolist() == [1.0, 0.1, 20.0, 50.0, 1.0, 1.0, 1.0, 4.0]
